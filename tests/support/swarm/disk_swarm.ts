/** A swarm whose orchestrator has blobs and checkpoints on a real disk, as `iota orchestrate` keeps them, and damage to that disk. */

import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Reducers } from "../../../core/config/payload_codec_names.ts";
import { hubBlobs } from "../../../cli/roles/blob_access.ts";
import type { StateJournal } from "../../../cli/orchestrator/journal/hub_journal.ts";
import { DiskBlobs } from "../../../net/blobs/blob_disk.ts";
import type { LostBlob } from "../../../net/blobs/blobs.ts";
import { Clock } from "../../lab/world/clock.ts";
import { World } from "../../lab/world/world.ts";
import { heldUp } from "./held_host.ts";
import { runDisk } from "./run_disk.ts";
import { configOf } from "./whole_run.ts";

export const diskConfig = configOf({ outer: { learningRate: 0.7, momentum: 0.9 } });

export interface DiskSwarm {
  readonly swarm: World;
  readonly lost: LostBlob[];
}

export async function openSwarm(
  folder: string,
  {
    replicas = 2,
    reducers = "auto",
    steps = 6,
    restartGraceMs = 30_000,
    mergePhaseMs = 10_000,
    awaitsNewcomer = false,
    journal = null,
    watch,
  }: {
    replicas?: number;
    reducers?: Reducers;
    steps?: number;
    restartGraceMs?: number;
    mergePhaseMs?: number;
    journal?: StateJournal | null;
    awaitsNewcomer?: boolean; // no miner computes in round 1 before a newcomer has loaded its stage
    watch: (record: RunRecord, swarm: World) => void;
  },
): Promise<DiskSwarm> {
  const lost: LostBlob[] = [];
  const limits = { blobBytes: 2 ** 26, capacityBytes: 2 ** 30 };
  const store = await DiskBlobs.open({ folder: `${folder}/blobs`, ...limits, onLost: (blob) => lost.push(blob) });
  const config = configOf({
    ...diskConfig,
    outer: { ...diskConfig.outer, reducers },
    swarm: { replicas },
    train: { ...diskConfig.train, steps },
    limits: { restartGraceMs, mergePhaseMs },
  });
  const clock = new Clock();
  const newcomer = Promise.withResolvers<void>();
  const swarm: World = new World({
    ...{ config, clock },
    watch: (record, world) => {
      if (record.type === "nodeReady" && record.round === 1) newcomer.resolve();
      watch(record, world);
    },
    device: heldUp(() => awaitsNewcomer && swarm.orchestrator.state.round === 1 ? newcomer.promise : null),
    hub: { journal, ...runDisk({ folder, config, blobs: hubBlobs(store), clock }) },
  });
  return { swarm, lost };
}

/** Every blob on the disk, behind the store's back. */
export function hitBlobs(folder: string, damage: "delete" | "rot"): void {
  for (const { name, isDirectory } of Deno.readDirSync(`${folder}/blobs`)) {
    if (!isDirectory || name === "incoming") continue;
    for (const file of Deno.readDirSync(`${folder}/blobs/${name}`)) {
      const path = `${folder}/blobs/${name}/${file.name}`;
      try {
        if (damage === "delete") Deno.removeSync(path);
        else {Deno.writeFileSync(path, Deno.readFileSync(path).map((byte, i) => i === 7 ? byte ^ 1 : byte), {
            create: false,
          });}
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error; // the store was faster
      }
    }
  }
}
