/**
 * Turns a round's blobs into a checkpoint folder, and a checkpoint folder back into blobs.
 */

import type { RunConfig } from "../../core/config/config.ts";
import type { RoundSources } from "../../core/orchestrator/state.ts";
import type { StageIndex } from "../../core/ids.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";
import type { ParameterSource } from "../../core/protocol/message.ts";
import { CheckpointError } from "../checkpoint/manifest.ts";
import {
  type FoundCheckpoint,
  latestCheckpoint,
  pruneCheckpoints,
  readMomentum,
  readStage,
  type StageVectors,
  writeCheckpoint,
} from "../checkpoint/checkpoint.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import { isLostBlob } from "./lost_blobs.ts";
import { loadSource } from "../node/stages/stage_source.ts";

export interface CheckpointPlace {
  readonly folder: string; // of all checkpoints
  readonly keep: number;
  readonly runId: string;
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly tokenizerHash: string;
  readonly datasetHash: string;
  readonly warn: (text: string) => void;
}

export interface RoundState {
  readonly round: number;
  readonly step: number;
  readonly sources: readonly ParameterSource[];
}

/** A stage's blobs are missing from the store, or do not match their hash. */
export class StageUnavailable extends Error {
  override name = "StageUnavailable";
  readonly stage: StageIndex;

  constructor(stage: StageIndex, cause: unknown) {
    super(`Cannot read stage ${stage} of the round: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.stage = stage;
  }
}

/** Returns the checkpoint's folder. */
export async function storeRound(
  place: CheckpointPlace,
  { round, step, sources }: RoundState,
  blobs: BlobAccess,
): Promise<string> {
  const { config, stages, runId, tokenizerHash, datasetHash } = place;
  const microbatch = step * config.train.microbatchesPerStep;
  async function* vectors(): AsyncGenerator<StageVectors> {
    for (const [index, source] of sources.entries()) {
      const table = parameterTable(stages[index]!);
      const { parameters, momentum } = await loadSource({ config, table, source, blobs }).catch((error) => {
        throw isLostBlob(error) ? new StageUnavailable(stages[index]!.index, error) : error;
      });
      yield momentum === null ? { table, parameters } : { table, parameters, momentum };
    }
  }
  const folder = await writeCheckpoint({
    folder: place.folder,
    state: { runId, round, step, microbatch, config, tokenizerHash, datasetHash },
    stages: vectors(),
    warn: place.warn,
  });
  await pruneCheckpoints({ folder: place.folder, keep: place.keep, newest: round });
  return folder;
}

/** Puts a checkpoint's vectors into the store, so that nodes can fetch them. */
export async function sourcesFrom(
  found: FoundCheckpoint,
  options: { stages: readonly StageSpec[]; blobs: BlobAccess },
): Promise<RoundSources> {
  const sources: ParameterSource[] = [];
  for (const spec of options.stages) {
    const request = { folder: found.folder, stage: spec.index, table: parameterTable(spec) };
    const parameters = await options.blobs.put(bytesOfFloats(await readStage(request)));
    const momentum = await readMomentum(request);
    sources.push({
      type: "blobs",
      parameters,
      momentum: momentum === null ? null : await options.blobs.put(bytesOfFloats(momentum)),
    });
  }
  return { round: found.manifest.round, stages: sources };
}

/** Puts a round's vectors back into the store; false if no intact checkpoint of it is left. */
export async function putBackRound(
  place: CheckpointPlace,
  { round, blobs }: { round: number; blobs: BlobAccess },
): Promise<boolean> {
  const found = await latestCheckpoint(place.folder, () => {}); // a torn one counts as none here
  if (found?.manifest.round !== round) return false;
  try {
    await sourcesFrom(found, { stages: place.stages, blobs });
    return true;
  } catch (error) {
    if (error instanceof CheckpointError) return false; // torn since it was checked
    throw error;
  }
}
