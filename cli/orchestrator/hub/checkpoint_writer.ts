/** Turns a round's blobs into a checkpoint folder, and back. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import type { RoundSources } from "../../../core/orchestrator/state.ts";
import type { StageIndex } from "../../../core/ids.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import type { ParameterSource } from "../../../core/protocol/message.ts";
import { CheckpointError } from "../../model/checkpoint/manifest.ts";
import {
  type FoundCheckpoint,
  latestCheckpoint,
  pruneCheckpoints,
  readMomentum,
  readStage,
  type Retention,
  type StageVectors,
  writeCheckpoint,
} from "../../model/checkpoint/checkpoint.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import { isLostBlob } from "./lost_blobs.ts";
import { loadSource } from "../../node/stages/stage_source.ts";

export interface CheckpointPlace {
  readonly folder: string;
  readonly keep: Retention;
  readonly runId: string;
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly tokenizerHash: string;
  readonly datasetHash: string;
  readonly from?: StartModel | null; // default null: the run began with random parameters
  readonly warn: (text: string) => void;
}

export interface RoundState {
  readonly round: number;
  readonly step: number;
  readonly sources: readonly ParameterSource[];
}

/** For a rollback. */
export interface EarlierRound {
  readonly step: number; // its first
  readonly sources: RoundSources;
}

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

export async function storeRound(
  place: CheckpointPlace,
  { round, step, sources }: RoundState,
  blobs: BlobAccess,
): Promise<string> {
  const { config, stages, runId, tokenizerHash, datasetHash, from = null } = place;
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
    state: { runId, round, step, microbatch, config, tokenizerHash, datasetHash, ...(from === null ? {} : { from }) },
    stages: vectors(),
    warn: place.warn,
  });
  await pruneCheckpoints({ folder: place.folder, keep: place.keep, round });
  return folder;
}

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

/** False: no intact checkpoint. */
export async function putBackRound(
  place: CheckpointPlace,
  { round, blobs }: { round: number; blobs: BlobAccess },
): Promise<boolean> {
  const found = await newestOf(place);
  return found?.manifest.round === round && await storedFrom(found, { place, blobs }) !== null;
}

/** Up to the round; null: none. */
export async function putBackEarlier(
  place: CheckpointPlace,
  { round, blobs }: { round: number; blobs: BlobAccess },
): Promise<EarlierRound | null> {
  const found = await newestOf(place);
  if (found === null || found.manifest.round > round) return null;
  const stored = await storedFrom(found, { place, blobs });
  return stored === null ? null : { step: found.manifest.step, sources: stored };
}

const newestOf = ({ folder, runId }: CheckpointPlace): Promise<FoundCheckpoint | null> =>
  latestCheckpoint(folder, () => {}, runId);

async function storedFrom(
  found: FoundCheckpoint,
  { place, blobs }: { place: CheckpointPlace; blobs: BlobAccess },
): Promise<RoundSources | null> {
  try {
    return await sourcesFrom(found, { stages: place.stages, blobs });
  } catch (error) {
    if (error instanceof CheckpointError) return null; // torn since it was checked
    throw error;
  }
}
