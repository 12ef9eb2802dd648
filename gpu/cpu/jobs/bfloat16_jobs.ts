/** Between f32 values and bfloat16 bytes, in units of 1,024 values. */

import { decodeBfloat16, encodeBfloat16 } from "../../../core/codec/bfloat16.ts";
import type { Job, Operation } from "./job.ts";

const unitValues = 1024;

export function bfloat16Job(
  operation: "bfloat16Encode" | "bfloat16Decode",
  { values, bytes, count }: { values: number; bytes: number; count: number },
): Job {
  return { operation, numbers: [values, bytes, count], units: Math.ceil(count / unitValues), unitNs: 2_000 };
}

function rangeOf(count: number, { from, to }: { from: number; to: number }) {
  const first = from * unitValues;
  return { first, own: Math.min(count, to * unitValues) - first };
}

export const runBfloat16Encode: Operation = ({ memory }, [values, bytes, count]) => (from, to) => {
  const { first, own } = rangeOf(count!, { from, to });
  const encoded = encodeBfloat16(new Float32Array(memory.buffer, values! + 4 * first, own));
  new Uint8Array(memory.buffer, bytes! + 2 * first, 2 * own).set(encoded);
};

export const runBfloat16Decode: Operation = ({ memory }, [values, bytes, count]) => (from, to) => {
  const { first, own } = rangeOf(count!, { from, to });
  const decoded = decodeBfloat16(new Uint8Array(memory.buffer, bytes! + 2 * first, 2 * own));
  new Float32Array(memory.buffer, values! + 4 * first, own).set(decoded);
};
