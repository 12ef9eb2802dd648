/**
 * The array work of a merge on one machine: form a slice of the payload, reduce a slice, take the outer step. The same functions
 * serve miners and the hub as referee, so their hashes can be compared. What the bytes of a slice mean is the payload codec's.
 *
 * All of it runs in turns (net/turns.ts): each value depends only on its own position, so parts give the same bits as the
 * whole.
 */

import type { OuterConfig } from "../../core/config/config.ts";
import { type Parsed, refused } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import { outerStep, pseudoGradient } from "../../core/merge/outer.ts";
import type { EncodeInput, PayloadCodec, WeightedSlice } from "../../core/merge/payload/payload_codec.ts";
import type { WeightedPayload } from "../../core/protocol/message.ts";
import { BlobError } from "../../net/blobs/blobs.ts";
import { inTurns, workInTurns } from "../../net/turns.ts";
import type { BlobAccess } from "./blob_access.ts";
import type { StageVectors } from "../node/stages/stage_source.ts";

const valuesOfTurn = 2 ** 19; // a few milliseconds of adding

/** What a replica learned, overwriting its current parameters. */
export async function subtractInPlace(start: Float32Array, current: Float32Array): Promise<Float32Array> {
  await inTurns({ total: current.length, unit: valuesOfTurn }, (from, to) => {
    const part = current.subarray(from, to);
    part.set(pseudoGradient({ start: start.subarray(from, to), current: part }));
  });
  return current;
}

export interface FormInput extends Omit<EncodeInput, "values"> {
  readonly start: Float32Array; // of the slice, at the start of the round
  readonly current: Float32Array; // overwritten
}

/** The bytes of a payload slice: what a replica learned in it. */
export async function formSlice(
  codec: PayloadCodec,
  { start, current, residual, embeddings }: FormInput,
): Promise<Uint8Array> {
  const values = await subtractInPlace(start, current);
  return await workInTurns(codec.encode({ values, residual, embeddings }));
}

/** The weighted mean of one slice of every payload, in the order given, as the codec's result. */
export async function reduceSlice(
  codec: PayloadCodec,
  { inputs, blobs }: { inputs: readonly WeightedPayload[]; blobs: BlobAccess },
): Promise<Parsed<Uint8Array>> {
  const slices: WeightedSlice[] = [];
  for (const { payload, weight, scale } of inputs) slices.push({ payload: await blobs.get(payload), weight, scale });
  if (slices.length === 0) return refused("badBlob", "Cannot reduce a slice as it must have a payload");
  return await workInTurns(codec.average(slices));
}

export interface MergeInput {
  readonly start: StageVectors;
  readonly slices: readonly BlobRef[]; // none: the stage keeps what it has
  readonly outer: OuterConfig;
  readonly codec: PayloadCodec;
  readonly blobs: BlobAccess;
}

/** The start is unchanged, since others may read it: the result is new memory, with at most one slice beside it. */
export async function mergeStage({ start, slices, outer, codec, blobs }: MergeInput): Promise<StageVectors> {
  if (slices.length === 0) return start;
  const { length } = start.parameters;
  const parameters = new Float32Array(length);
  const momentum = start.momentum === null ? null : new Float32Array(length);
  let offset = 0;
  for (const ref of slices) {
    const average = await workInTurns(codec.decodeResult(await blobs.get(ref), length - offset));
    if (average === null) throw unreadable(ref);
    const at = offset;
    offset += average.length;
    await inTurns({ total: average.length, unit: valuesOfTurn }, (from, to) => {
      const merged = outerStep({
        parameters: start.parameters.subarray(at + from, at + to),
        momentum: start.momentum?.subarray(at + from, at + to) ?? new Float32Array(to - from),
        average: average.subarray(from, to),
        learningRate: outer.learningRate,
        momentumFactor: outer.momentum,
      });
      parameters.set(merged.parameters, at + from);
      momentum?.set(merged.momentum, at + from);
    });
  }
  const last = slices.at(-1);
  if (offset < length && last !== undefined) throw unreadable(last);
  return { parameters, momentum };
}

/** The reducers agreed on bytes that are not a slice of this stage: treated like a missing blob. */
const unreadable = ({ hash }: BlobRef) =>
  new BlobError("wrongHash", `Cannot merge slice ${hash} as the slices must cover the stage's values`);
