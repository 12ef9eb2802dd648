/**
 * The weighted mean of a slice over contributors, the same bits on every machine.
 *
 * Each value is summed in float64 in the order of inputs, divided once and rounded once to float32, so callers sort
 * contributors with `inMergeOrder`. Other lengths and non-finite values are refused.
 */

import { type Parsed, parsed, refused } from "../fault.ts";
import { inUnits, type LongWork } from "../long_work.ts";

interface AverageInput {
  readonly inputs: readonly Float32Array[]; // in merge order
  readonly weights: readonly number[];
  readonly scales?: readonly number[]; // at most 1; absent: all 1
}

const maxWeight = 2 ** 53; // no sum of products overflows

export function averageSlices({ inputs, weights, scales }: AverageInput): Parsed<Float32Array<ArrayBuffer>> {
  const first = inputs[0];
  if (first === undefined || weights.length !== inputs.length) {
    return refused("badNumbers", `Cannot average ${inputs.length} slices with ${weights.length} weights`);
  }
  const wrong = inputs.find((input) => input.length !== first.length);
  if (wrong !== undefined) {
    return refused(
      "badNumbers",
      `Cannot average slices of different lengths, ${first.length} and ${wrong.length}`,
    );
  }
  const wrongWeight = weights.find((weight) => !(weight >= 0 && weight <= maxWeight));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (wrongWeight !== undefined || total === 0) {
    return refused(
      "badNumbers",
      `Cannot average slices: weights must be positive numbers, and are ${weights}`,
    );
  }
  const factors = weights.map((weight, j) => weight * (scales?.[j] ?? 1));
  const average = new Float32Array(first.length);
  for (let i = 0; i < average.length; i++) {
    let sum = 0;
    for (let j = 0; j < inputs.length; j++) sum += factors[j]! * inputs[j]![i]!;
    average[i] = sum / total;
  }
  const position = firstBadInput(inputs);
  return position === null
    ? parsed(average)
    : refused("badNumbers", `Cannot average slices: input ${position} holds a non-finite value`);
}

const addedInUnit = 2 ** 19; // values; a few milliseconds

/** The same with pauses: values depend only on their position, so the bits are equal. */
export function* averageInUnits({ inputs, ...rest }: AverageInput): LongWork<Parsed<Float32Array<ArrayBuffer>>> {
  const length = Math.max(0, ...inputs.map((input) => input.length));
  const average = new Float32Array(length);
  const refusals: Parsed<Float32Array<ArrayBuffer>>[] = [];
  const unit = Math.max(1, Math.floor(addedInUnit / Math.max(1, inputs.length)));
  yield* inUnits({ total: Math.max(1, length), unit }, (start, end) => {
    if (refusals.length > 0) return;
    const part = averageSlices({ ...rest, inputs: inputs.map((input) => input.subarray(start, end)) });
    if (part.ok) average.set(part.value, start);
    else refusals.push(part);
  });
  return refusals[0] ?? parsed(average);
}

/** A zero weight does not help, since 0 * NaN is NaN. */
function firstBadInput(inputs: readonly Float32Array[]): number | null {
  const position = inputs.findIndex((input) => !isFiniteVector(input));
  return position < 0 ? null : position;
}

function isFiniteVector(values: Float32Array): boolean {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) return false;
  }
  return true;
}

/** Completed work, at most twice the median, so that a large claim cannot decide the result. */
export function contributionWeights(tokens: readonly number[]): number[] {
  const sorted = [...tokens].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
  return tokens.map((count) => Math.min(count, 2 * median));
}
