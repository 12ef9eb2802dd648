/**
 * Format bfloat16: the upper half of a float32, two little-endian bytes per value, rounded to nearest, ties to even.
 *
 * NaN gets its quiet bit, so that truncation cannot turn it into infinity. gpu/codecs/bfloat16_transfer.ts rounds to
 * the same bits.
 */

import { assert } from "../assert.ts";
import type { WireFormat } from "./codec.ts";
import { haveFiniteExponents } from "./exponents.ts";

const bytesPerValue = 2;

function roundedBits(bits: number): number {
  const isNaN = (bits & 0x7fffffff) > 0x7f800000;
  if (isNaN) return (bits >>> 16) | 0x40;
  const isUpperOdd = (bits >>> 16) & 1;
  return (bits + 0x7fff + isUpperOdd) >>> 16;
}

export function encodeBfloat16(values: Float32Array): Uint8Array<ArrayBuffer> {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bytes = new Uint8Array(values.length * bytesPerValue);
  for (let i = 0; i < bits.length; i++) {
    const upper = roundedBits(bits[i]!);
    bytes[2 * i] = upper;
    bytes[2 * i + 1] = upper >>> 8;
  }
  return bytes;
}

export function decodeBfloat16(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const count = bytes.length / bytesPerValue;
  assert(
    Number.isInteger(count),
    `The length of bfloat16 bytes must be even, and is ${bytes.length}`,
  );
  const values = new Float32Array(count);
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < count; i++) bits[i] = ((bytes[2 * i + 1]! << 24) | (bytes[2 * i]! << 16)) >>> 0;
  return values;
}

/** A table of the 2^15 squares is faster than converting patterns to numbers. */
function sums(bytes: Uint8Array): { largest: number; squareSum: number } {
  const table = squares ??= makeSquares();
  let pattern = 0, squareSum = 0;
  for (let i = 0; i < bytes.length; i += bytesPerValue) {
    const magnitude = bytes[i]! | ((bytes[i + 1]! & 0x7f) << 8);
    if (magnitude > pattern) pattern = magnitude; // without their signs, patterns sort like their values
    squareSum += table[magnitude]!;
  }
  return { largest: Math.sqrt(table[pattern]!), squareSum };
}

let squares: Float64Array | null = null;

function makeSquares(): Float64Array {
  const patterns = new Uint32Array(2 ** 15).map((_, magnitude) => magnitude << 16);
  return Float64Array.from(new Float32Array(patterns.buffer), (value) => value * value);
}

export const bfloat16: WireFormat = {
  byteLength: ({ rows, width }) => rows * width * bytesPerValue,
  encode: encodeBfloat16,
  decode: decodeBfloat16,
  isFinite: (bytes) => haveFiniteExponents(bytes, bytesPerValue),
  // The distance of neighbours, since a value between two rounds to either, and the error of float32 sums.
  rounding: { ofValue: 2 ** -7, ofRow: 2 ** -17, valuesHit: 1 },
  sums,
};
