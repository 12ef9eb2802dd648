/**
 * The hub's own work on stored blobs: reductions, outer steps, restored stages, checks for lost blobs. Each answers with the
 * machine's event; a lost blob is an answer too. Any other exception is our bug or a disk failure and ends the run.
 */

import { present, unreachable } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { parsed } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import { inUnits, type LongWork } from "../../core/long_work.ts";
import type { PayloadCodec } from "../../core/merge/payload/payload_codec.ts";
import { payloadCodecOf } from "../../core/merge/payload/payload_codecs.ts";
import { ShapeSum } from "../../core/merge/payload_shape.ts";
import { inspectVector, joinStats, noValues, type PayloadStats, unreadable } from "../../core/merge/payload_stats.ts";
import { decodeChange } from "../../core/merge/shown_change.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import type { Slice } from "../../core/protocol/message.ts";
import { workInTurns } from "../../net/turns.ts";
import type { SignatureChecker } from "./signatures/signature_check.ts";
import type { HubBlobs } from "../roles/blob_access.ts";
import { lostAmong, unlessLost } from "./lost_blobs.ts";
import { payloadHash } from "../roles/payload_hash.ts";
import { mergeStage, reduceSlice } from "../roles/merge_work.ts";
import { bringBack } from "./restore_stage.ts";
import { loadSource } from "../node/stages/stage_source.ts";

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

export interface HubWorkplace {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly blobs: HubBlobs;
  readonly checker: SignatureChecker;
  readonly putBackRound?: (round: number) => Promise<boolean>;
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
      return { type: "stageRestored", round, stage, ...await bringBack(work, place) };
    case "checkBlobs":
      return { type: "blobsChecked", round, stage, phase: work.phase, lost: await lostAmong(place.blobs, work.refs) };
    default:
      return unreachable(work);
  }
}

async function checkPayload(
  work: Effect<"checkPayload">,
  { blobs, config, stages, checker }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, stage, node, slices, layout, sketchKey, signed } = work;
  const codec = payloadCodecOf(config);
  const sum = new ShapeSum(parameterTable(present(stages[stage], "the stage exists")).tensors, sketchKey);
  const stats = await statsOf(slices, {
    blobs,
    inspect: (bytes, index) =>
      inspectSlice(codec, { bytes, slice: present(layout[index], "a slice has its place"), sum }),
  });
  const shape = stats?.isFinite === true ? sum.finish() : null;
  const { statement } = signed;
  const isOfThis = statement.type === "round" && statement.payload === payloadHash(slices);
  const [isSigned = false] = isOfThis ? await checker.check([signed]) : [];
  return { type: "payloadChecked", round, stage, node, stats, shape, isSigned };
}

/** Of a mean of this payload alone; null if it cannot be read. */
function* valuesAlone(
  codec: PayloadCodec,
  { bytes, size }: { bytes: Uint8Array; size: number },
): LongWork<Float32Array | null> {
  const mean = codec.isOwnAverage ? parsed(bytes) : yield* codec.average([{ payload: bytes, weight: 1, scale: 1 }]);
  return mean.ok ? yield* codec.decodeResult(mean.value, size) : null;
}

/** Adds the slice's values to the shape. */
function* inspectSlice(
  codec: PayloadCodec,
  { bytes, slice: { offset, size }, sum }: { bytes: Uint8Array; slice: Slice; sum: ShapeSum },
): LongWork<PayloadStats> {
  const stats = yield* codec.inspect(bytes, size);
  if (!stats.isFinite) return stats;
  const values = yield* valuesAlone(codec, { bytes, size });
  if (values !== null) yield* sum.add(values, offset);
  return stats;
}

/** How far the parameters shown are from the round's start. */
async function checkState(
  work: Effect<"checkState">,
  { blobs, stages }: HubWorkplace,
): Promise<OrchestratorEvent> {
  const { round, step, stage, node, change, sketchKey } = work;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const shown = await unlessLost(blobs.get(change));
  if (shown === null || shown.byteLength !== change.bytes) {
    return { type: "stateChecked", round, step, node, way: null, sketch: null };
  }
  const values = await workInTurns(decodeChange(shown, table.length));
  const way = values === null ? unreadable : await workInTurns(inspectVector(bytesOfFloats(values)));
  const sum = new ShapeSum(table.tensors, sketchKey);
  if (values !== null && way.isFinite) await workInTurns(sum.add(values, 0));
  return { type: "stateChecked", round, step, node, way, sketch: way.isFinite ? sum.finish().sketch : null };
}

/** What plain averaging of this payload alone would give. */
async function layEnd(work: Effect<"layEnd">, { blobs, config, stages }: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, node, source, slices, layout } = work;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const start = await unlessLost(loadSource({ config, table, source, blobs, parametersOnly: true }));
  const codec = payloadCodecOf(config);
  const end = start?.parameters.slice() ?? new Float32Array();
  for (const [index, ref] of slices.entries()) {
    const { offset, size } = present(layout[index], "a slice has its place");
    const bytes = start === null ? null : await unlessLost(blobs.get(ref));
    const values = bytes === null ? null : await workInTurns(valuesAlone(codec, { bytes, size }));
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
  const stats = await statsOf(vectors, { blobs, inspect: inspectVector });
  return { type: "uploadChecked", round, stage, node, isFinite: stats?.isFinite ?? null };
}

/** Of all together; null if one is missing from the store or damaged. */
async function statsOf(
  refs: readonly BlobRef[],
  { blobs, inspect }: {
    blobs: HubBlobs;
    inspect: (bytes: Uint8Array, index: number) => LongWork<PayloadStats>;
  },
): Promise<PayloadStats | null> {
  let whole = noValues;
  for (const [index, ref] of refs.entries()) {
    const bytes = await unlessLost(blobs.get(ref));
    if (bytes === null || bytes.byteLength !== ref.bytes) return null;
    whole = joinStats(whole, await workInTurns(inspect(bytes, index)));
  }
  return whole;
}

async function refereeSlice(work: Effect<"refereeSlice">, { blobs, config }: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, edition, stage, slice, inputs } = work;
  const average = await unlessLost(reduceSlice(payloadCodecOf(config), { inputs, blobs }));
  if (average === null) return { type: "sliceUnavailable", round, stage, slice };
  const result = average.ok ? await blobs.put(average.value) : null;
  return { type: "sliceRefereed", round, edition, stage, slice, result };
}

async function refereeMerge(work: Effect<"refereeMerge">, place: HubWorkplace): Promise<OrchestratorEvent> {
  const { round, stage, source, slices } = work;
  const { blobs, config, stages } = place;
  const table = parameterTable(present(stages[stage], "the stage exists"));
  const start = await unlessLost(loadSource({ config, table, source, blobs }));
  if (start === null) return { type: "mergeUnavailable", round, stage, lost: "start" };
  const codec = payloadCodecOf(config);
  const merged = await unlessLost(mergeStage({ start, slices, outer: config.outer, codec, blobs }));
  if (merged === null) return { type: "mergeUnavailable", round, stage, lost: "slices" };
  const put = (values: Float32Array): Promise<BlobRef> => blobs.put(bytesOfFloats(values));
  const parameters = await put(merged.parameters);
  const momentum = merged.momentum === null ? null : await put(merged.momentum);
  return { type: "mergeRefereed", round, stage, slices, parameters, momentum };
}
