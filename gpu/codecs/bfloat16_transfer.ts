/**
 * Bfloat16 wires between device and host: the device rounds and widens, and half of the bytes cross. Both kernels work on bit
 * patterns, so every adapter makes the bytes of core/codec/bfloat16.ts, subnormals and NaN included.
 */

import { assert } from "../../core/assert.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import type { BufferRange } from "../buffers.ts";
import type { Dispatch, Kernels, KernelSource } from "../kernel.ts";
import decodeSource from "../wgsl/bfloat16_decode.wgsl" with { type: "text" };
import encodeSource from "../wgsl/bfloat16_encode.wgsl" with { type: "text" };
import type { BuildTransfer } from "./codec.ts";

const lanes = 64; // the workgroup size of both kernels
const groupsPerRow = 32768; // below every adapter's limit of workgroups along one axis

export const bfloat16Transfer: BuildTransfer = ({ ops, buffers }, { wire, values, label }) => {
  const count = wire.rows * wire.width;
  const staged = buffers.scratch(`${label} as bfloat16`, count / 2);
  return {
    wire,
    staged,
    decode: [bfloat16Decode(ops.kernels, { count, bytes: staged, values })],
    encode: [bfloat16Encode(ops.kernels, { count, bytes: staged, values })],
    toStaged: (bytes) => bytes,
    fromStaged: (content) => new Uint8Array(content, 0, wireBytes(wire)),
  };
};

interface Operands {
  readonly count: number; // of values, a multiple of 4
  readonly values: BufferRange; // f32
  readonly bytes: BufferRange; // two values in a word
}

export function bfloat16Encode(kernels: Kernels, { count, values, bytes }: Operands): Dispatch {
  return flat(kernels, { label: "bfloat16_encode", source: encodeSource }, { count, bindings: [values, bytes] });
}

export function bfloat16Decode(kernels: Kernels, { count, values, bytes }: Operands): Dispatch {
  return flat(kernels, { label: "bfloat16_decode", source: decodeSource }, { count, bindings: [bytes, values] });
}

/** Four values a lane. */
function flat(
  kernels: Kernels,
  kernel: KernelSource,
  { count, bindings }: { count: number; bindings: BufferRange[] },
): Dispatch {
  assert(
    count % 4 === 0,
    `Cannot run ${kernel.label} as the values must be a multiple of 4: current value is ${count}`,
  );
  const groups = Math.ceil(count / 4 / lanes);
  return kernels.dispatch({
    kernel,
    bindings,
    constants: [count / 4, groupsPerRow],
    workgroups: [Math.min(groups, groupsPerRow), Math.ceil(groups / groupsPerRow)],
  });
}
