/**
 * The array work of a merge on one machine: reduce a slice, take the outer step. The same functions serve miners and the
 * hub as referee, so their hashes can be compared.
 */

import { assert } from "../../core/assert.ts";
import type { OuterConfig } from "../../core/config/config.ts";
import { type Parsed, refused } from "../../core/fault.ts";
import type { BlobRef } from "../../core/ids.ts";
import { averageSlices } from "../../core/merge/average.ts";
import { outerStep } from "../../core/merge/outer.ts";
import type { WeightedPayload } from "../../core/protocol/message.ts";
import { type BlobAccess, floatsOf } from "./blob_access.ts";
import type { StageVectors } from "./source.ts";

/** The weighted mean of one slice of every payload, in the order given. */
export async function reduceSlice(
  blobs: BlobAccess,
  inputs: readonly WeightedPayload[],
): Promise<Parsed<Float32Array>> {
  const vectors: Float32Array[] = [];
  for (const input of inputs) vectors.push(floatsOf(await blobs.get(input.payload)));
  if (vectors.length === 0) return refused("badBlob", "Cannot reduce a slice as it must have a payload");
  const [weights, scales] = [inputs.map(({ weight }) => weight), inputs.map(({ scale }) => scale)];
  return averageSlices({ inputs: vectors, weights, scales });
}

export interface MergeInput {
  readonly start: StageVectors;
  readonly slices: readonly BlobRef[]; // none: the stage keeps what it has
  readonly outer: OuterConfig;
  readonly blobs: BlobAccess;
}

export async function mergeStage({ start, slices, outer, blobs }: MergeInput): Promise<StageVectors> {
  if (slices.length === 0) return start;
  const average = new Float32Array(start.parameters.length);
  let offset = 0;
  for (const ref of slices) {
    const values = floatsOf(await blobs.get(ref));
    average.set(values, offset);
    offset += values.length;
  }
  assert(
    offset === average.length,
    `Cannot merge as slices must cover ${average.length} floats: current value is ${offset}`,
  );
  const merged = outerStep({
    parameters: start.parameters,
    momentum: start.momentum ?? new Float32Array(average.length),
    average,
    learningRate: outer.learningRate,
    momentumFactor: outer.momentum,
  });
  return { parameters: merged.parameters, momentum: start.momentum === null ? null : merged.momentum };
}
