/**
 * How large the values of an encoded wire are, read from its bytes.
 *
 * Two measures, since either alone can be had by a single value: the largest says nothing of the rest, the root mean square hides
 * one huge value among many. Out of scope: which sizes are plausible (orchestrator/step/result_check.ts).
 */

import type { WireSpec } from "../model/spec.ts";

export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number; // root mean square
}

/** Of several segments together; both are Infinity when a value is NaN or infinite, 0 without values. */
export function wireScale(
  { bytesPerValue }: Pick<WireSpec, "bytesPerValue">,
  segments: readonly Uint8Array[],
): WireScale {
  let largest = 0, squareSum = 0, values = 0;
  for (const bytes of segments) {
    const sums = bytesPerValue === 2 ? sumsOfBfloat16(bytes) : sumsOfFloat32(bytes);
    largest = Math.max(largest, sums.largest);
    squareSum += sums.squareSum;
    values += Math.floor(bytes.length / bytesPerValue);
  }
  if (!Number.isFinite(squareSum)) return { largest: Infinity, rms: Infinity };
  return { largest, rms: values === 0 ? 0 : Math.sqrt(squareSum / values) };
}

interface Sums {
  readonly largest: number;
  readonly squareSum: number; // not finite when a value is not: squares of floats are far from the end of doubles
}

/** A bfloat16 has so few patterns that a table of their squares is quicker than making numbers of them. */
function sumsOfBfloat16(bytes: Uint8Array): Sums {
  const squares = bfloat16Squares ??= makeBfloat16Squares();
  let pattern = 0, squareSum = 0;
  for (let i = 0; i + 1 < bytes.length; i += 2) {
    const magnitude = bytes[i]! | ((bytes[i + 1]! & 0x7f) << 8);
    if (magnitude > pattern) pattern = magnitude; // without their signs patterns order as their values do
    squareSum += squares[magnitude]!;
  }
  return { largest: Math.sqrt(squares[pattern]!), squareSum };
}

let bfloat16Squares: Float64Array | null = null;

function makeBfloat16Squares(): Float64Array {
  const patterns = new Uint32Array(2 ** 15).map((_, magnitude) => magnitude << 16);
  return Float64Array.from(new Float32Array(patterns.buffer), (value) => value * value);
}

function sumsOfFloat32(bytes: Uint8Array): Sums {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let largest = 0, squareSum = 0;
  for (let i = 0; i + 3 < bytes.length; i += 4) {
    const value = view.getFloat32(i, true);
    const magnitude = Math.abs(value);
    if (magnitude > largest) largest = magnitude;
    squareSum += value * value;
  }
  return { largest, squareSum };
}
