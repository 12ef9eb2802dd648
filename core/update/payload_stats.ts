/**
 * Statistics from one pass over a payload: whether every value is finite, its norm, its largest value.
 *
 * For vectors that a member sent and the orchestrator reads. Sums in float64 in the order of the values, so every
 * machine gets the same bits. A square of a float32 is at most 1.2e77, so sums of finite values never overflow. Out of
 * scope: limits for honest members.
 */

import { inUnits, type LongWork } from "../long_work.ts";
import { floatsOf, vectorBytes } from "../model/vector_bytes.ts";

const inspectedInUnit = 2 ** 20; // values, a few milliseconds

export interface PayloadStats {
  readonly isFinite: boolean; // no NaN and no infinity
  readonly squareSum: number; // of the finite values
  readonly largest: number; // absolute, of the finite values; 0 for an empty vector
}

export const noValues: PayloadStats = { isFinite: true, squareSum: 0, largest: 0 };

/** For bytes that are not a payload, or one of another length: treated like non-finite values. */
export const unreadable: PayloadStats = { isFinite: false, squareSum: 0, largest: 0 };

export function payloadStats(values: Float32Array): PayloadStats {
  let isFinite = true;
  let squareSum = 0;
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const value = Math.abs(values[i]!);
    if (!(value < Infinity)) { // also NaN
      isFinite = false;
      continue;
    }
    squareSum += value * value;
    if (value > largest) largest = value;
  }
  return { isFinite, squareSum, largest };
}

/** For the bytes of a vector, in units; `unreadable` unless they are whole floats. */
export function* inspectVector(bytes: Uint8Array): LongWork<PayloadStats> {
  if (bytes.byteLength % vectorBytes(1) !== 0) return unreadable;
  const values = floatsOf(bytes);
  let whole = noValues;
  yield* inUnits({ total: values.length, unit: inspectedInUnit }, (start, end) => {
    whole = joinStats(whole, payloadStats(values.subarray(start, end)));
  });
  return whole;
}

/** Combines the statistics of two parts. */
export function joinStats(a: PayloadStats, b: PayloadStats): PayloadStats {
  return {
    isFinite: a.isFinite && b.isFinite,
    squareSum: a.squareSum + b.squareSum,
    largest: Math.max(a.largest, b.largest),
  };
}
