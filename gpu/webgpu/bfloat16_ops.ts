/** Works on bit patterns, so every adapter gives the bytes of core/codec/bfloat16.ts, subnormals and NaN included. */

import { assert } from "../../core/assert.ts";
import { groupsPerRow, type Kernels, type KernelSource, workgroupGrid } from "./kernel.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";
import decodeSource from "./wgsl/bfloat16_decode.wgsl" with { type: "text" };
import encodeSource from "./wgsl/bfloat16_encode.wgsl" with { type: "text" };

const lanes = 64; // workgroup size

interface Operands {
  readonly count: number; // values, a multiple of 4
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
    workgroups: workgroupGrid(groups),
  });
}
