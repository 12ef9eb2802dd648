/**
 * The queue for places in a full run, on disk so that a restart keeps the order. A damaged file costs only the order.
 */

import * as v from "valibot";
import { type Fault, fault } from "../../../../core/fault.ts";
import type { NodeId } from "../../../../core/ids.ts";
import { freePlaces } from "../../../../core/orchestrator/members/roster.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import type { Role } from "../../../../core/protocol/message.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";
import { address } from "../../../../net/messages/schema_values.ts";
import { systemTimers } from "../../../../net/timers.ts";
import { realDisk, writeAtomically } from "../../../files/disk.ts";
import { plural } from "../../../../core/plural.ts";

const queueName = "queue.json";
const queueShape = v.array(address);

export interface Places {
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
  const text = await Deno.readTextFile(path).catch(() => "[]");
  try {
    return v.parse(queueShape, JSON.parse(text));
  } catch {
    return [];
  }
}

const keepMs = 600_000; // time to update or restart a machine
const awakeMs = 15_000; // a node asks at least every 4 s (net/links/node.ts)
const mostQueued = 4096; // their addresses are 200 kB

interface PlaceQueueOptions {
  readonly queued?: readonly NodeId[]; // from before a restart
  readonly onChange: (queued: readonly NodeId[]) => void;
  readonly steadyMs: () => number;
}

export class PlaceQueue {
  readonly #options: PlaceQueueOptions;
  readonly #askedMs = new Map<NodeId, number>(); // in the order of the first question

  constructor(options: PlaceQueueOptions) {
    this.#options = options;
    for (const node of options.queued ?? []) this.#askedMs.set(node, options.steadyMs());
  }

  /** Null: it may come in. `free`: open places; `most`: miners of a stage. */
  ask(node: NodeId, { free, most }: { free: number; most: number }): Fault | null {
    const nowMs = this.#options.steadyMs();
    const before = this.#askedMs.size;
    for (const [each, askedMs] of this.#askedMs) if (nowMs - askedMs > keepMs) this.#askedMs.delete(each);
    const isNew = !this.#askedMs.has(node);
    const awake = [...this.#askedMs].filter(([each, askedMs]) => each === node || nowMs - askedMs <= awakeMs);
    const rank = isNew ? awake.length : awake.findIndex(([each]) => each === node);
    if (rank < free) {
      if (this.#askedMs.size !== before) this.#changed();
      return null; // queued until it has its place: it may break off
    }
    if (isNew && this.#askedMs.size >= mostQueued) {
      return fault(
        "limitExceeded",
        `Every place is taken, and ${mostQueued} nodes wait for one already; try again later`,
      );
    }
    this.#askedMs.set(node, nowMs);
    if (isNew || this.#askedMs.size !== before) this.#changed();
    const others = Math.max(rank + 1, awake.length + (isNew ? 1 : 0));
    return fault(
      "limitExceeded",
      `Every stage has its ${plural(most, "miner")}, so this node waits for a place, ${
        rank + 1
      } of ${others} in the queue. It gets one when a ` +
        "miner leaves, or when the run's owner raises limits.minersPerStage; it keeps its rank for 10 minutes while it is restarted",
    );
  }

  left(node: NodeId): void {
    if (this.#askedMs.delete(node)) this.#changed();
  }

  #changed(): void {
    this.#options.onChange([...this.#askedMs.keys()]);
  }
}
