/**
 * The orchestrator's own work on stored blobs. Each answers with the machine's event; other exceptions end the run.
 */

import { present, unreachable } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { BlobRef } from "../../../core/ids.ts";
import { inUnits, type LongWork } from "../../../core/long_work.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { inspectVector, joinStats, noValues, type PayloadStats } from "../../../core/update/payload_stats.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { workInTurns } from "../../../net/turns.ts";
import type { SignatureChecker } from "../../roles/signatures/signature_check.ts";
import type { HubBlobs } from "../../roles/blob_access.ts";
import { lostAmong, unlessLost } from "./lost_blobs.ts";
import { payloadHash } from "../../roles/payload_hash.ts";
import { mergeStage, type OuterPart, reduceSlice } from "../../node/stages/merge_work.ts";
import type { VectorArithmetic } from "./arithmetic/vector_calls.ts";
import type { EarlierRound } from "./checkpoint_writer.ts";
import { bringBack } from "./restore_stage.ts";
import { loadSource } from "../../node/stages/stage_source.ts";

type Effect<Type extends OrchestratorEffect["type"]> = Extract<OrchestratorEffect, { type: Type }>;

export type HubWork = Effect<
  | "checkPayload"
  | "checkState"
  | "layEnd"
  | "checkUpload"
  | "refereeSlice"
  | "refereeMerge"
  | "restoreStage"
  | "checkBlobs"
>;

interface HubWorkplace {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly blobs: HubBlobs;
  readonly checker: SignatureChecker;
  readonly arithmetic: VectorArithmetic;
  readonly putBackRound?: (round: number) => Promise<boolean>;
  readonly putBackEarlier?: (round: number) => Promise<EarlierRound | null>;
}

export async function performHubWork(work: HubWork, place: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage } = work;
  switch (work.type) {
    case "checkPayload":
      return await checkPayload(work, place);
    case "checkState":
      return await checkState(work, place);
    case "layEnd":
      return await layEnd(work, place);
    case "checkUpload":
      return await checkUpload(work, place);
    case "refereeSlice":
      return await refereeSlice(work, place);
    case "refereeMerge":
      return await refereeMerge(work, place);
    case "restoreStage":
      return { round, stage, ...await bringBack(work, place) };
    case "checkBlobs":
      return { type: "blobsChecked", round, stage, phase: work.phase, lost: await lostAmong(place.blobs, work.refs) };
    default:
      return unreachable(work);
  }
}

async function checkPayload(
  work: Effect<"checkPayload">,
  { blobs, arithmetic, checker }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, stage, node, slices, layout, sketchKey, signed } = work;
  const inspection = inspections++;
  let isWhole = true;
  for (const [index, ref] of slices.entries()) {
    const bytes = await unlessLost(blobs.get(ref));
    isWhole = bytes !== null && bytes.byteLength === ref.bytes;
    if (bytes === null || !isWhole) break;
    const slice = present(layout[index], "a slice has its place");
    await arithmetic.compute("inspect", { inspection, stage, sketchKey, bytes, slice });
  }
  const { stats, shape } = await arithmetic.compute("inspected", { inspection });
  const { statement } = signed;
  const isOfThis = statement.type === "round" && statement.payload === payloadHash(slices);
  const [isSigned = false] = isOfThis ? await checker.check([signed]) : [];
  return {
    type: "payloadChecked",
    round,
    stage,
    node,
    stats: isWhole ? stats : null,
    shape: isWhole ? shape : null,
    isSigned,
  };
}

let inspections = 0;

async function checkState(
  work: Effect<"checkState">,
  { blobs, arithmetic }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, step, stage, node, change: ref, sketchKey } = work;
  const change = await unlessLost(blobs.get(ref));
  if (change === null || change.byteLength !== ref.bytes) {
    return { type: "stateChecked", round, step, node, way: null, sketch: null };
  }
  const found = await arithmetic.compute("inspectChange", { stage, sketchKey, change });
  return { type: "stateChecked", round, step, node, ...found };
}

async function layEnd(
  work: Effect<"layEnd">,
  { arithmetic, blobs, config, stages }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, stage, node, source, slices, layout } = work;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const start = await unlessLost(loadSource({ config, table, source, blobs, parametersOnly: true }));
  const end = start?.parameters.slice() ?? new Float32Array();
  for (const [index, ref] of slices.entries()) {
    const { offset, size } = present(layout[index], "a slice has its place");
    const bytes = start === null ? null : await unlessLost(blobs.get(ref));
    const values = bytes === null ? null : await arithmetic.compute("valuesAlone", { bytes, size });
    if (values === null) return { type: "endLaid", round, stage, node, parameters: null };
    await workInTurns(subtractAt(end, { values, offset }));
  }
  return { type: "endLaid", round, stage, node, parameters: await blobs.put(bytesOfFloats(end)) };
}

const valuesOfTurn = 2 ** 18;

function* subtractAt(
  end: Float32Array,
  { values, offset }: { values: Float32Array; offset: number },
): LongWork<void> {
  yield* inUnits({ total: values.length, unit: valuesOfTurn }, (from, to) => {
    for (let i = from; i < to; i++) end[offset + i]! -= values[i]!;
  });
}

async function checkUpload(work: Effect<"checkUpload">, { blobs }: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, node, vectors } = work;
  const stats = await statsOf(vectors, blobs);
  return { type: "uploadChecked", round, stage, node, isFinite: stats?.isFinite ?? null };
}

/** Null: one is missing or damaged. */
async function statsOf(
  refs: readonly BlobRef[],
  blobs: HubBlobs,
): Promise<PayloadStats | null> {
  let whole = noValues;
  for (const ref of refs) {
    const bytes = await unlessLost(blobs.get(ref));
    if (bytes === null || bytes.byteLength !== ref.bytes) return null;
    whole = joinStats(whole, await workInTurns(inspectVector(bytes)));
  }
  return whole;
}

async function refereeSlice(
  work: Effect<"refereeSlice">,
  { arithmetic, blobs, config }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, edition, stage, slice, inputs: payloads } = work;
  const average = await unlessLost(reduceSlice(payloadCodecOf(config), {
    inputs: payloads,
    blobs,
    average: (inputs) => arithmetic.compute("average", { inputs }),
  }));
  if (average === null) return { type: "sliceUnavailable", round, stage, slice };
  const result = average.ok ? await blobs.put(average.value) : null;
  return { type: "sliceRefereed", round, edition, stage, slice, result };
}

async function refereeMerge(work: Effect<"refereeMerge">, place: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, source, slices } = work;
  const { arithmetic, blobs, config, stages } = place;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const start = await unlessLost(loadSource({ config, table, source, blobs }));
  if (start === null) return { type: "mergeUnavailable", round, stage, lost: "start" };
  const codec = payloadCodecOf(config);
  const isOnePart = slices.length === 1; // a part must not include the rest of the stage
  const merged = await unlessLost(mergeStage({
    ...{ start, slices, outer: config.outer, codec, blobs },
    ...(isOnePart ? { step: (part: OuterPart) => arithmetic.compute("outerSlice", part) } : {}),
  }));
  if (merged === null) return { type: "mergeUnavailable", round, stage, lost: "slices" };
  const put = (values: Float32Array): Promise<BlobRef> => blobs.put(bytesOfFloats(values));
  const parameters = await put(merged.parameters);
  const momentum = merged.momentum === null ? null : await put(merged.momentum);
  return { type: "mergeRefereed", round, stage, slices, parameters, momentum };
}
