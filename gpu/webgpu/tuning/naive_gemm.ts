/**
 * The matrix products as plainly as they can be written: one invocation for each output, one chain of `fma` over ascending K.
 * Every setting of ../generate/gemm.ts must give the same bits.
 */

import type { GemmKind } from "../generate/gemm_settings.ts";
import type { GpuDispatch, Kernels } from "../kernel.ts";
import type { BufferRange } from "../../stage_ops.ts";

export interface NaiveProduct {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
  readonly bindings: readonly [a: BufferRange, b: BufferRange, c: BufferRange];
}

const at: Readonly<Record<GemmKind, readonly [a: string, b: string]>> = {
  forward: ["row * shape.depth + k", "column * shape.depth + k"],
  inputGradient: ["row * shape.depth + k", "k * shape.columns + column"],
  weightGradient: ["k * shape.rows + row", "k * shape.columns + column"],
};

const size = 8; // of a workgroup, in both directions

function source(kind: GemmKind): string {
  const [a, b] = at[kind];
  return `struct Shape { rows: u32, columns: u32, depth: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> shape: Shape;
@compute @workgroup_size(${size}, ${size}) fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let column = id.x;
  if (row >= shape.rows || column >= shape.columns) { return; }
  var sum = 0.0;
  for (var k = 0u; k < shape.depth; k++) { sum = fma(a[${a}], b[${b}], sum); }
  c[row * shape.columns + column] = sum;
}`;
}

export function naiveGemm(
  kernels: Kernels,
  kind: GemmKind,
  { rows, columns, depth, bindings }: NaiveProduct,
): GpuDispatch {
  return kernels.dispatch({
    kernel: { label: `naive gemm ${kind}`, source: source(kind) },
    bindings,
    constants: [rows, columns, depth],
    workgroups: [Math.ceil(columns / size), Math.ceil(rows / size)],
  });
}
