/**
 * The queue for places in a full run, in the run's folder, so that a restart of the orchestrator keeps the order.
 *
 * Owns: the file and what it may hold. A file that cannot be read or written costs the order and nothing else.
 */

import * as v from "valibot";
import type { Fault } from "../../../../core/fault.ts";
import type { NodeId } from "../../../../core/ids.ts";
import { freePlaces } from "../../../../core/orchestrator/members/roster.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import type { Role } from "../../../../core/protocol/message.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import { address } from "../../../../net/messages/schema_values.ts";
import { systemTimers } from "../../../../net/timers.ts";
import { realDisk, writeAtomically } from "../../../files/disk.ts";
import { PlaceQueue } from "./place_queue.ts";

const queueName = "queue.json";
const queueShape = v.array(address);

export interface Places {
  /** Null: the node has a place or may have one. */
  admit(node: { node: NodeId; role: Role }): Fault | null;
  onRecord(record: RunRecord): void;
}

export async function openPlaces(
  folder: string,
  { state, warn }: { state: () => OrchestratorState; warn: (text: string) => void },
): Promise<Places> {
  const path = `${folder}/${queueName}`;
  let writing = Promise.resolve();
  const save = (queued: readonly NodeId[]) => {
    const chunks = [new TextEncoder().encode(JSON.stringify(queued))];
    writing = writing.then(() => writeAtomically(path, { disk: realDisk, chunks })).catch((error) =>
      warn(`Cannot save the waiting list in ${path}, so a restart begins a new one: ${error.message}`)
    );
  };
  const queue = new PlaceQueue({
    queued: await readQueue(path),
    onChange: save,
    steadyMs: () => systemTimers.steadyMs(),
  });
  return {
    admit({ node, role }) {
      const { members, config } = state();
      if (role !== "miner" || members.has(node)) return null;
      return queue.ask(node, { free: freePlaces(state()), most: config.limits.minersPerStage });
    },
    onRecord: (record) => {
      if (record.type === "nodeJoined") queue.left(record.node);
    },
  };
}

async function readQueue(path: string): Promise<NodeId[]> {
  const text = await Deno.readTextFile(path).catch(() => "[]"); // none yet
  try {
    return v.parse(queueShape, JSON.parse(text));
  } catch {
    return []; // a damaged one
  }
}
