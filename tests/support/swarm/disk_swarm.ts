/** A swarm whose orchestrator has blobs and checkpoints on a real disk, as `iota orchestrate` keeps them, and damage to that disk. */

import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Reducers } from "../../../core/config/payload_codec_names.ts";
import { type HubBlobs, hubBlobs } from "../../../cli/roles/blob_access.ts";
import type { StateJournal } from "../../../cli/orchestrator/hub/journal/hub_journal.ts";
import {
  type CheckpointPlace,
  putBackEarlier,
  putBackRound,
  storeRound,
} from "../../../cli/orchestrator/hub/checkpoint_writer.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import { DiskBlobs } from "../../../net/blobs/blob_disk.ts";
import type { LostBlob } from "../../../net/blobs/blobs.ts";
import { heldUp } from "./held_host.ts";
import { LocalSwarm } from "./local_swarm.ts";
import { configOf } from "./whole_run.ts";

export const diskConfig = configOf({ outer: { learningRate: 0.7, momentum: 0.9 } });

export interface DiskSwarm {
  readonly swarm: LocalSwarm;
  readonly lost: LostBlob[];
  /** Resolves when nothing more is written: for a run that is left before its end, as its folder goes with the test. */
  readonly settled: () => Promise<void>;
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
    journal,
    watch,
  }: {
    replicas?: number;
    reducers?: Reducers;
    steps?: number;
    restartGraceMs?: number;
    mergePhaseMs?: number;
    journal?: StateJournal;
    awaitsNewcomer?: boolean; // no miner computes in round 1 before a newcomer has loaded its stage
    watch: (record: RunRecord, swarm: LocalSwarm) => void;
  },
): Promise<DiskSwarm> {
  const lost: LostBlob[] = [];
  const limits = { blobBytes: 2 ** 26, capacityBytes: 2 ** 30 };
  const store = await DiskBlobs.open({ folder: `${folder}/blobs`, ...limits, onLost: (blob) => lost.push(blob) });
  const { blobs, writes } = watchedWrites(hubBlobs(store));
  const own = configOf({
    ...diskConfig,
    outer: { ...diskConfig.outer, reducers },
    swarm: { replicas },
    train: { ...diskConfig.train, steps },
    limits: { restartGraceMs, mergePhaseMs },
  });
  const stages = stageSpecs(own, splitLayers(own));
  const hashes = { tokenizerHash: "0".repeat(64), datasetHash: "0".repeat(64) };
  const place: CheckpointPlace = {
    warn: () => {},
    folder: `${folder}/checkpoints`,
    keep: 3,
    runId: "local",
    config: own,
    stages,
    ...hashes,
  };
  const newcomer = Promise.withResolvers<void>();
  const swarm: LocalSwarm = new LocalSwarm({
    config: own,
    ...(journal === undefined ? {} : { journal }),
    watch: (record, world) => {
      if (record.type === "nodeReady" && record.round === 1) newcomer.resolve();
      watch(record, world);
    },
    host: () => heldUp(() => awaitsNewcomer && swarm.orchestrator.state.round === 1 ? newcomer.promise : null),
    disk: {
      blobs,
      storeRound: (round) => storeRound(place, round, blobs),
      putBackRound: (round) => putBackRound(place, { round, blobs }),
      putBackEarlier: (round) => putBackEarlier(place, { round, blobs }),
    },
  });
  const settled = async () => {
    while (writes.size > 0) {
      await Promise.allSettled(writes);
      await swarm.quiet();
    }
  };
  return { swarm, lost, settled };
}

/** The store, and what is being written to it. */
function watchedWrites(store: HubBlobs): { blobs: HubBlobs; writes: Set<Promise<unknown>> } {
  const writes = new Set<Promise<unknown>>();
  const put = async (bytes: Uint8Array) => {
    const write = store.put(bytes);
    writes.add(write);
    try {
      return await write;
    } finally {
      writes.delete(write);
    }
  };
  return { blobs: { ...store, put }, writes };
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
