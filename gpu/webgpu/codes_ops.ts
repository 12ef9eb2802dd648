/** Codes of few bits: the bytes and values of core/codec/scaled_codes.ts on every adapter. */

import { assert } from "../../core/assert.ts";
import type { WireShape } from "../../core/codec/codec.ts";
import { codesLength, codesOffset, type CodesSpec, codeTables } from "../../core/codec/scaled_codes.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import { floatBits, groupsPerRow, type Kernels, workgroupGrid } from "./kernel.ts";
import decodeSource from "./wgsl/codes_decode.wgsl" with { type: "text" };
import encodeSource from "./wgsl/codes_encode.wgsl" with { type: "text" };
import scalesSource from "./wgsl/codes_scales.wgsl" with { type: "text" };

const lanes = 64; // workgroup size
const rowsOfScales = 4; // per workgroup of codes_scales
const one = 161; // scale byte of 1; the next three are quarter octaves above

interface Operands {
  readonly codes: CodesSpec;
  readonly shape: WireShape;
  readonly values: BufferRange; // f32 (rows, width)
  readonly bytes: BufferRange; // the wire, padded to whole words
}

export function codesEncode(
  kernels: Kernels,
  { codes, shape, values, bytes, key }: Operands & { readonly key: BufferRange }, // one word
): Dispatch[] {
  const { rows, width } = shape;
  const { count, scaleWords } = sizesOf(shape);
  const codeWords = codesLength(codes, shape) / 4 - scaleWords;
  const scales = kernels.dispatch({
    kernel: { label: "codes_scales", source: scalesSource },
    bindings: [values, bytes],
    constants: [rows, width, groupsPerRow],
    workgroups: workgroupGrid(Math.ceil(rows / rowsOfScales)),
  });
  const flags = [codes.bits, Number(codes.grid === "stochastic"), scaleWords, codeWords, groupsPerRow, 0];
  const encode = kernels.dispatch({
    kernel: { label: "codes_encode", source: encodeSource },
    bindings: [values, bytes, key],
    constants: [count, width, ...flags, ...quarters(codeTables(codes).perValue)],
    workgroups: workgroupGrid(Math.ceil(codeWords / lanes)),
  });
  return [scales, encode];
}

export function codesDecode(kernels: Kernels, { codes, shape, values, bytes }: Operands): Dispatch[] {
  const { count, scaleWords } = sizesOf(shape);
  const flags = [codes.bits, Number(codes.grid === "stochastic"), scaleWords, groupsPerRow, floatBits(Infinity), 0];
  return [kernels.dispatch({
    kernel: { label: "codes_decode", source: decodeSource },
    bindings: [bytes, values],
    constants: [count, shape.width, ...flags, ...quarters(codeTables(codes).perCode)],
    workgroups: workgroupGrid(Math.ceil(count / lanes)),
  })];
}

function sizesOf(shape: WireShape): { count: number; scaleWords: number } {
  const count = shape.rows * shape.width;
  assert(
    8 * count < 2 ** 32,
    `Cannot code a wire as the kernels count at most 2^32 bits: current value is ${8 * count}`,
  );
  return { count, scaleWords: codesOffset(shape) / 4 };
}

/** The scales 2^(0/4) to 2^(3/4); all others are these times a power of two. */
const quarters = (table: Float32Array) => [...table.subarray(one, one + 4)].map(floatBits);
