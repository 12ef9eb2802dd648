/**
 * The array work of a merge on one machine: form a slice of the payload, reduce a slice, take the outer step. The same functions
 * serve miners and the hub as referee, so their hashes can be compared.
 *
 * All of it in turns (net/turns.ts): each value depends on its own position only, so parts give the same bits as the whole.
 */

import { assert } from "../../core/assert.ts";
import type { OuterConfig } from "../../core/config/config.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import { averageSlices } from "../../core/merge/average.ts";
import { outerStep, pseudoGradient } from "../../core/merge/outer.ts";
import type { WeightedPayload } from "../../core/protocol/message.ts";
import { inTurns } from "../../net/turns.ts";
import { type BlobAccess, floatsOf } from "./blob_access.ts";
import type { StageVectors } from "../node/stage_source.ts";

const valuesOfTurn = 2 ** 19; // a few milliseconds of adding

/** What a replica learned, written over its current parameters. */
export async function subtractInPlace(start: Float32Array, current: Float32Array): Promise<Float32Array> {
  await inTurns({ total: current.length, unit: valuesOfTurn }, (from, to) => {
    const part = current.subarray(from, to);
    part.set(pseudoGradient({ start: start.subarray(from, to), current: part }));
  });
  return current;
}

/** The weighted mean of one slice of every payload, in the order given. */
export async function reduceSlice(
  blobs: BlobAccess,
  inputs: readonly WeightedPayload[],
): Promise<Parsed<Float32Array>> {
  const vectors: Float32Array[] = [];
  for (const input of inputs) vectors.push(floatsOf(await blobs.get(input.payload)));
  if (vectors.length === 0) return refused("badBlob", "Cannot reduce a slice as it must have a payload");
  return await averageInTurns(vectors, inputs);
}

async function averageInTurns(
  vectors: readonly Float32Array[],
  inputs: readonly WeightedPayload[],
): Promise<Parsed<Float32Array>> {
  const [weights, scales] = [inputs.map(({ weight }) => weight), inputs.map(({ scale }) => scale)];
  const length = Math.max(...vectors.map((vector) => vector.length));
  const average = new Float32Array(length);
  const unit = Math.max(1, Math.floor(valuesOfTurn / vectors.length));
  const refusals: Parsed<Float32Array>[] = [];
  await inTurns({ total: Math.max(1, length), unit }, (from, to) => {
    if (refusals.length > 0) return;
    const part = averageSlices({ inputs: vectors.map((vector) => vector.subarray(from, to)), weights, scales });
    if (part.ok) average.set(part.value, from);
    else refusals.push(part);
  });
  return refusals[0] ?? parsed(average);
}

export interface MergeInput {
  readonly start: StageVectors;
  readonly slices: readonly BlobRef[]; // none: the stage keeps what it has
  readonly outer: OuterConfig;
  readonly blobs: BlobAccess;
}

/** The start stays as it is, as others may read it: the result is new memory, and no more than one slice beside it. */
export async function mergeStage({ start, slices, outer, blobs }: MergeInput): Promise<StageVectors> {
  if (slices.length === 0) return start;
  const { length } = start.parameters;
  const parameters = new Float32Array(length);
  const momentum = start.momentum === null ? null : new Float32Array(length);
  let offset = 0;
  for (const ref of slices) {
    const average = floatsOf(await blobs.get(ref));
    const at = offset;
    offset += average.length;
    if (offset > length) break;
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
  assert(offset === length, `Cannot merge as slices must cover ${length} floats: current value is ${offset}`);
  return { parameters, momentum };
}
