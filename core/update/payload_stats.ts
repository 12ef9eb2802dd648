/**
 * Statistics from one pass over a payload. Sums are in float64 in the order of values, the same bits everywhere;
 * squares of float32 are at most 1.2e77, so sums never overflow.
 */

import { inUnits, type LongWork } from "../long_work.ts";
import { floatsOf, vectorBytes } from "../model/vector_bytes.ts";

const inspectedInUnit = 2 ** 20; // values; a few milliseconds

export interface PayloadStats {
  readonly isFinite: boolean;
  readonly squareSum: number; // of finite values
  readonly largest: number; // finite magnitude; 0: empty
}

export const noValues: PayloadStats = { isFinite: true, squareSum: 0, largest: 0 };

/** Not a payload, or of another length: as with non-finite values. */
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

/** `unreadable` unless the bytes are whole floats. */
export function* inspectVector(bytes: Uint8Array): LongWork<PayloadStats> {
  if (bytes.byteLength % vectorBytes(1) !== 0) return unreadable;
  const values = floatsOf(bytes);
  let whole = noValues;
  yield* inUnits({ total: values.length, unit: inspectedInUnit }, (start, end) => {
    whole = joinStats(whole, payloadStats(values.subarray(start, end)));
  });
  return whole;
}

export function joinStats(a: PayloadStats, b: PayloadStats): PayloadStats {
  return {
    isFinite: a.isFinite && b.isFinite,
    squareSum: a.squareSum + b.squareSum,
    largest: Math.max(a.largest, b.largest),
  };
}
