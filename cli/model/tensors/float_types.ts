/** Floats as files keep them: F32, BF16 and F16, little-endian. */

import { decodeBfloat16, encodeBfloat16 } from "../../../core/codec/bfloat16.ts";

/** What exports are written in. */
export type ExportType = "f32" | "bf16";

export type FloatType = "F32" | "BF16" | "F16";

export const floatBytes: Readonly<Record<FloatType, number>> = { F32: 4, BF16: 2, F16: 2 };

export const isFloatType = (name: string): name is FloatType => Object.hasOwn(floatBytes, name);

/** Exact: every value of 16 bits is a float32. */
export function widen(bytes: Uint8Array<ArrayBuffer>, type: FloatType): Float32Array {
  if (type === "BF16") return decodeBfloat16(bytes);
  const { buffer } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const offset = bytes.byteOffset % 4 === 0 ? bytes.byteOffset : 0;
  if (type === "F32") return new Float32Array(buffer, offset, bytes.length / 4);
  return Float32Array.from(new Float16Array(buffer, offset, bytes.length / 2));
}

/** Rounded to nearest, ties to even. Without a copy for F32. */
export function narrow(values: Float32Array, type: FloatType): Uint8Array {
  if (type === "BF16") return encodeBfloat16(values);
  const floats = type === "F16" ? Float16Array.from(values) : values;
  return new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
}
