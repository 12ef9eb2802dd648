/**
 * A stage that a miner could not load: from the store, else from the round's checkpoint. Otherwise the run rolls back
 * to an earlier checkpoint; without any, the stage is rebuilt from its neighbours or reinitialised.
 */

import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { StageIndex } from "../../../core/ids.ts";
import { fillRestored, type Neighbour } from "../../../core/update/restore.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { blobsOf } from "../../../core/orchestrator/stored_blobs.ts";
import type { Restored } from "../../../core/orchestrator/merge/restoring.ts";
import type { ParameterSource } from "../../../core/protocol/message.ts";
import { inTurns } from "../../../net/turns.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import { lostAmong, unlessLost } from "./lost_blobs.ts";
import { loadSource, type StageVectors } from "../../node/stages/stage_source.ts";
import type { EarlierRound } from "./checkpoint_writer.ts";

const valuesOfTurn = 2 ** 18; // 10 ms of generating

interface LostStage {
  readonly round: number;
  readonly stage: StageIndex;
  readonly sources: readonly ParameterSource[];
  readonly gradientSquares: readonly number[];
}

interface RestorePlace {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly blobs: BlobAccess;
  readonly putBackRound?: (round: number) => Promise<boolean>;
  readonly putBackEarlier?: (round: number) => Promise<EarlierRound | null>;
}

export type BroughtBack =
  | { readonly type: "stageRestored"; readonly source: ParameterSource; readonly from: Restored }
  | { readonly type: "earlierRoundFound"; readonly earlier: EarlierRound };

export async function bringBack(
  lost: LostStage,
  place: RestorePlace,
): Promise<BroughtBack> {
  const { stage, sources, round } = lost;
  const source = present(sources[stage], "every stage has a source");
  await lostAmong(place.blobs, blobsOf([source])); // none may count as stored when uploaded again
  if (await vectorsOf(stage, { lost, place }) !== null) return restored(source, "stored");
  if (await place.putBackRound?.(round) && await vectorsOf(stage, { lost, place }) !== null) {
    return restored(source, "checkpoint");
  }
  const earlier = await place.putBackEarlier?.(round) ?? null;
  if (earlier !== null) return { type: "earlierRoundFound", earlier };
  const neighbours = await neighboursOf(lost, place);
  if (neighbours.length === 0) return restored({ type: "initial" }, "initial");
  const { config, stages, blobs } = place;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const rebuilt = new Float32Array(table.length);
  await inTurns({ total: table.length, unit: valuesOfTurn }, (start, end) => {
    fillRestored({ table, seed: config.seed, neighbours }, start, rebuilt.subarray(start, end));
  });
  const parameters = await blobs.put(bytesOfFloats(rebuilt));
  return restored({ type: "blobs", parameters, momentum: null }, "neighbours");
}

const restored = (source: ParameterSource, from: Restored): BroughtBack => ({ type: "stageRestored", source, from });

async function vectorsOf(
  stage: number,
  { lost, place }: { lost: LostStage; place: RestorePlace },
): Promise<StageVectors | null> {
  const spec = place.stages[stage];
  const source = lost.sources[stage];
  if (spec === undefined || source === undefined) return null;
  const { config, blobs } = place;
  return await unlessLost(loadSource({ config, table: parameterTable(spec), source, blobs }));
}

async function neighboursOf(lost: LostStage, place: RestorePlace): Promise<Neighbour[]> {
  const neighbours: Neighbour[] = [];
  for (const stage of [lost.stage - 1, lost.stage + 1]) {
    const vectors = await vectorsOf(stage, { lost, place });
    const spec = place.stages[stage];
    if (vectors === null || spec === undefined) continue;
    const weight = lost.gradientSquares[stage] ?? 0;
    neighbours.push({ table: parameterTable(spec), parameters: vectors.parameters, weight });
  }
  return neighbours;
}
