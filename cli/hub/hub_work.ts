/**
 * What the hub does itself with stored blobs: reductions, outer steps, restored stages, a look at what is lost. Each answers
 * with the machine's event; a lost blob is an answer too. Anything else that throws is ours or the disk's and ends the run.
 */

import { present, unreachable } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import type { BlobRef } from "../../core/ids.ts";
import { type PayloadStats, payloadStats } from "../../core/merge/payload_stats.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import { inTurns } from "../../net/turns.ts";
import { bytesOfFloats, floatsOf, type HubBlobs } from "../roles/blob_access.ts";
import { lostAmong, unlessLost } from "./lost_blobs.ts";
import { mergeStage, reduceSlice } from "../roles/merge_work.ts";
import { bringBack } from "./restore_stage.ts";
import { loadSource } from "../node/stage_source.ts";

const valuesOfTurn = 2 ** 20; // a few milliseconds of adding

type Effect<Type extends OrchestratorEffect["type"]> = Extract<OrchestratorEffect, { type: Type }>;

export type HubWork = Effect<"checkPayload" | "refereeSlice" | "refereeMerge" | "restoreStage" | "checkBlobs">;

export interface HubWorkplace {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly blobs: HubBlobs;
  readonly putBackRound?: (round: number) => Promise<boolean>;
}

export async function performHubWork(work: HubWork, place: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage } = work;
  switch (work.type) {
    case "checkPayload":
      return await checkPayload(work, place);
    case "refereeSlice":
      return await refereeSlice(work, place);
    case "refereeMerge":
      return await refereeMerge(work, place);
    case "restoreStage":
      return { type: "stageRestored", round, stage, ...await bringBack(work, place) };
    case "checkBlobs":
      return { type: "blobsChecked", round, stage, phase: work.phase, lost: await lostAmong(place.blobs, work.refs) };
    default:
      return unreachable(work);
  }
}

async function checkPayload(work: Effect<"checkPayload">, { blobs }: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, node, slices } = work;
  let whole: PayloadStats = { isFinite: true, squareSum: 0, largest: 0 };
  for (const ref of slices) {
    const bytes = await unlessLost(blobs.get(ref));
    if (bytes === null || bytes.byteLength !== ref.bytes) {
      return { type: "payloadChecked", round, stage, node, stats: null };
    }
    const values = floatsOf(bytes);
    await inTurns({ total: values.length, unit: valuesOfTurn }, (start, end) => {
      const { isFinite, squareSum, largest } = payloadStats(values.subarray(start, end));
      whole = {
        isFinite: whole.isFinite && isFinite,
        squareSum: whole.squareSum + squareSum,
        largest: Math.max(whole.largest, largest),
      };
    });
  }
  return { type: "payloadChecked", round, stage, node, stats: whole };
}

async function refereeSlice(work: Effect<"refereeSlice">, { blobs }: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, edition, stage, slice, inputs } = work;
  const average = await unlessLost(reduceSlice(blobs, inputs));
  if (average === null) return { type: "sliceUnavailable", round, stage, slice };
  const result = average.ok ? await blobs.put(bytesOfFloats(average.value)) : null;
  return { type: "sliceRefereed", round, edition, stage, slice, result };
}

async function refereeMerge(work: Effect<"refereeMerge">, place: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, source, slices } = work;
  const { blobs, config, stages } = place;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const start = await unlessLost(loadSource({ config, table, source, blobs }));
  if (start === null) return { type: "mergeUnavailable", round, stage, lost: "start" };
  const merged = await unlessLost(mergeStage({ start, slices, outer: config.outer, blobs }));
  if (merged === null) return { type: "mergeUnavailable", round, stage, lost: "slices" };
  const put = (values: Float32Array): Promise<BlobRef> => blobs.put(bytesOfFloats(values));
  const parameters = await put(merged.parameters);
  const momentum = merged.momentum === null ? null : await put(merged.momentum);
  return { type: "mergeRefereed", round, stage, parameters, momentum };
}
