/** Blobs and checkpoints on a real disk, as `iota orchestrate` keeps them; virtual time stands still while the disk works. */

import type { RunConfig } from "../../../core/config/config.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import {
  type CheckpointPlace,
  putBackEarlier,
  putBackRound,
  storeRound,
} from "../../../cli/orchestrator/hub/checkpoint_writer.ts";
import type { OrchestratorRoleOptions } from "../../../cli/orchestrator/hub/running_orchestrator.ts";
import type { HubBlobs } from "../../../cli/roles/blob_access.ts";
import type { Clock } from "../../lab/world/clock.ts";

export interface DiskOptions {
  readonly folder: string;
  readonly config: RunConfig;
  readonly blobs: HubBlobs;
  readonly clock: Clock;
  readonly runId?: string;
  readonly beforeCheckpoint?: () => void; // throws when the disk should refuse it
}

type Disk = Required<Pick<OrchestratorRoleOptions, "blobs" | "storeRound" | "putBackRound" | "putBackEarlier">>;

export function runDisk(
  { folder, config, blobs: store, clock, runId = "world", beforeCheckpoint = () => {} }: DiskOptions,
): Disk {
  const place: CheckpointPlace = {
    ...{
      folder: `${folder}/checkpoints`,
      keep: { newest: 3, everySteps: 0 },
      runId,
      config,
      stages: stageSpecs(config, splitLayers(config)),
    },
    ...{ tokenizerHash: "0".repeat(64), datasetHash: "0".repeat(64), warn: () => {} },
  };
  const blobs: HubBlobs = {
    put: (bytes) => clock.during(() => store.put(bytes)),
    get: (ref) => clock.during(() => store.get(ref)),
    delete: (hash) => clock.during(() => store.delete(hash)),
    sweep: (used) => clock.during(() => store.sweep(used)),
  };
  return {
    blobs,
    storeRound: (round) =>
      clock.during(() => {
        beforeCheckpoint();
        return storeRound(place, round, blobs);
      }),
    putBackRound: (round) => clock.during(() => putBackRound(place, { round, blobs })),
    putBackEarlier: (round) => clock.during(() => putBackEarlier(place, { round, blobs })),
  };
}
