/** Codes of few bits, in units of rows that share no word. */

import type { WireShape } from "../../../core/codec/codec.ts";
import { codesLength, type CodesSpec, rowsOfWords, ScaledCodes } from "../../../core/codec/scaled_codes.ts";
import type { Hand, Job, Operation } from "./job.ts";
import { decodeBfloat16, encodeBfloat16 } from "../../../core/codec/bfloat16.ts";

const grids = ["nearest", "stochastic"] as const;

interface CodesCall {
  readonly codes: CodesSpec;
  readonly shape: WireShape;
  readonly values: number; // addresses
  readonly bytes: number;
  readonly key?: number; // one word, for an encode
}

export function codesJob(
  operation: "codesEncode" | "codesDecode",
  { codes: { bits, grid }, shape: { rows, width }, values, bytes, key = 0 }: CodesCall,
): Job {
  return {
    operation,
    numbers: [values, bytes, rows, width, bits, grids.indexOf(grid), key],
    units: Math.ceil(rows / rowsOfWords),
    unitNs: rowsOfWords * width * 10,
  };
}

function prepared({ memory }: Hand, [values, bytes, rows, width, bits, grid]: readonly number[]) {
  const shape: WireShape = { rows: rows!, width: width! };
  const codes = new ScaledCodes({ bits: bits!, grid: grids[grid!]! });
  return {
    codes,
    shape,
    values: new Float32Array(memory.buffer, values!, shape.rows * shape.width),
    bytes: new Uint8Array(memory.buffer, bytes!, codesLength(codes.spec, shape)),
    rowsOf: (from: number, to: number) => ({ from: from * rowsOfWords, to: Math.min(shape.rows, to * rowsOfWords) }),
  };
}

export const runCodesEncode: Operation = (hand, numbers) => {
  const { codes, shape, values, bytes, rowsOf } = prepared(hand, numbers);
  const key = new Uint32Array(hand.memory.buffer, numbers[6]!, 1)[0]!;
  return (from, to) => codes.encodeRows({ values, bytes, key }, shape, rowsOf(from, to));
};

export const runCodesDecode: Operation = (hand, numbers) => {
  const { codes, shape, values, bytes, rowsOf } = prepared(hand, numbers);
  return (from, to) => codes.decodeRows({ bytes, target: values }, shape, rowsOf(from, to));
};

/** f32 and bfloat16. */
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
