/**
 * A merge's array work on one machine. Miners and the orchestrator as arbiter share it, so their hashes can be
 * compared.
 *
 * It runs in turns (net/turns.ts). Each value depends only on its own position, so parts give the same bits as the
 * whole.
 */

import type { OuterConfig } from "../../../core/config/config.ts";
import { type Parsed, refused } from "../../../core/fault.ts";
import type { BlobRef } from "../../../core/ids.ts";
import { inUnits, type LongWork } from "../../../core/long_work.ts";
import { outerStep, pseudoGradient } from "../../../core/update/outer.ts";
import type { EncodeInput, PayloadCodec, WeightedSlice } from "../../../core/update/payload/payload_codec.ts";
import type { WeightedPayload } from "../../../core/protocol/merge_messages.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { inTurns, workInTurns } from "../../../net/turns.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import type { StageVectors } from "./stage_source.ts";

const valuesOfTurn = 2 ** 19; // a few milliseconds

/** Leaves a replica's change in `current`. */
export async function subtractInPlace(start: Float32Array, current: Float32Array): Promise<Float32Array> {
  await inTurns({ total: current.length, unit: valuesOfTurn }, (from, to) => {
    const part = current.subarray(from, to);
    part.set(pseudoGradient({ start: start.subarray(from, to), current: part }));
  });
  return current;
}

interface FormInput extends Omit<EncodeInput, "values"> {
  readonly start: Float32Array; // at the round's start
  readonly current: Float32Array;
}

export async function formSlice(
  codec: PayloadCodec,
  { start, current, residual, embeddings }: FormInput,
): Promise<Uint8Array> {
  const values = await subtractInPlace(start, current);
  return await workInTurns(codec.encode({ values, residual, embeddings }));
}

/** In the order given. */
export async function reduceSlice(
  codec: PayloadCodec,
  { inputs, blobs, average = (slices) => workInTurns(codec.average(slices)) }: {
    inputs: readonly WeightedPayload[];
    blobs: BlobAccess;
    average?: (slices: readonly WeightedSlice[]) => Promise<Parsed<Uint8Array>>;
  },
): Promise<Parsed<Uint8Array>> {
  const slices: WeightedSlice[] = [];
  for (const { payload, weight, scale } of inputs) slices.push({ payload: await blobs.get(payload), weight, scale });
  if (slices.length === 0) return refused("badBlob", "Cannot reduce a slice without a payload");
  return await average(slices);
}

export interface OuterPart {
  readonly slice: Uint8Array;
  readonly parameters: Float32Array;
  readonly momentum: Float32Array | null; // null: zeros, none is kept
}

export interface OuterResult {
  readonly parameters: Float32Array;
  readonly momentum: Float32Array | null;
}

interface OuterRun {
  readonly outer: OuterConfig;
  readonly codec: PayloadCodec;
}

/** Null: not a slice, or one longer than the stage. */
export function* outerSlice(
  { slice, parameters, momentum }: OuterPart,
  { outer, codec }: OuterRun,
): LongWork<OuterResult | null> {
  const average = yield* codec.decodeResult(slice, parameters.length);
  if (average === null) return null;
  const result = {
    parameters: new Float32Array(average.length),
    momentum: momentum === null ? null : new Float32Array(average.length),
  };
  yield* inUnits({ total: average.length, unit: valuesOfTurn }, (from, to) => {
    const merged = outerStep({
      parameters: parameters.subarray(from, to),
      momentum: momentum?.subarray(from, to) ?? new Float32Array(to - from),
      average: average.subarray(from, to),
      learningRate: outer.learningRate,
      momentumFactor: outer.momentum,
    });
    result.parameters.set(merged.parameters, from);
    result.momentum?.set(merged.momentum, from);
  });
  return result;
}

interface MergeInput extends OuterRun {
  readonly start: StageVectors;
  readonly slices: readonly BlobRef[]; // none: the stage keeps what it has
  readonly blobs: BlobAccess;
  /** @default in turns of this thread */
  readonly step?: (part: OuterPart) => Promise<OuterResult | null>;
}

/** The start may be read by others, so the result is new memory, with at most one slice beside it. */
export async function mergeStage({ start, slices, outer, codec, blobs, step }: MergeInput): Promise<StageVectors> {
  if (slices.length === 0) return start;
  const stepped = step ?? ((part) => workInTurns(outerSlice(part, { outer, codec })));
  const { length } = start.parameters;
  const parameters = new Float32Array(length);
  const momentum = start.momentum === null ? null : new Float32Array(length);
  let offset = 0;
  for (const ref of slices) {
    const part = {
      slice: await blobs.get(ref),
      parameters: start.parameters.subarray(offset),
      momentum: start.momentum?.subarray(offset) ?? null,
    };
    const merged = await stepped(part);
    if (merged === null) throw unreadable(ref);
    parameters.set(merged.parameters, offset);
    if (merged.momentum !== null) momentum?.set(merged.momentum, offset);
    offset += merged.parameters.length;
  }
  const last = slices.at(-1);
  if (offset < length && last !== undefined) throw unreadable(last);
  return { parameters, momentum };
}

/** The reducers agreed on bad bytes: treated like a missing blob. */
const unreadable = ({ hash }: BlobRef) =>
  new BlobError("wrongHash", `Cannot merge slice ${hash}: the slices do not cover the stage's values`);
