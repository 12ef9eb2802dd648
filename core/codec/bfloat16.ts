/**
 * bfloat16: the upper half of a float32 (8 exponent bits, 7 mantissa bits), two little-endian bytes a value.
 *
 * Owns the rounding: to nearest, ties to even, so every machine puts the same bytes on the wire. NaN stays NaN (its quiet
 * bit is set, or a mantissa whose upper bits are zero would turn into infinity); infinities and signed zeros survive.
 * Refuses: byte strings of odd length.
 */

import { assert } from "../assert.ts";

const bytesPerValue = 2;

/** The upper 16 bits of `bits` (a float32's pattern) after rounding to nearest even. */
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

/** `bytes` may start at any offset of its buffer. */
export function decodeBfloat16(bytes: Uint8Array, out?: Float32Array): Float32Array {
  const count = bytes.length / bytesPerValue;
  assert(
    Number.isInteger(count),
    `Cannot decode bfloat16 as 'bytes' must have an even length: current value is ${bytes.length}`,
  );
  const values = out ?? new Float32Array(count);
  assert(
    values.length === count,
    `Cannot decode bfloat16 as 'out' must hold ${count} values: current value is ${values.length}`,
  );
  const bits = new Uint32Array(values.buffer, values.byteOffset, count);
  for (let i = 0; i < count; i++) bits[i] = ((bytes[2 * i + 1]! << 24) | (bytes[2 * i]! << 16)) >>> 0;
  return values;
}
