/**
 * What both families of attention kernels share: a query row's kernels but the walk over the other side. `row` is the
 * lane's row in its sequence; it begins at `own` in qkv and at `outAt` in the output.
 */

import { each, range } from "./unrolled.ts";

export interface RowsOfLanes {
  readonly headWidth: number; // multiple of 4
  readonly lanes: number; // rows per workgroup
}

interface Walk {
  readonly memory?: string; // workgroup memory
  readonly walk: string; // loop over the rows before `end`
}

export const attentionShape = `struct Shape {
  length: u32, // T
  heads: u32,
  kvHeads: u32,
  group: u32, // query heads per key/value head
  groupReciprocal: u32, // ceil(2^16 / group): (head * this) >> 16 is head / group, and Mesa sees that it is uniform
  scale: f32, // 1 / sqrt(headWidth)
}
`;

/** Over a head: four independent chains, then a fixed order. */
export function dot(name: string, vectors: number, pair: (i: number) => readonly [string, string]): string {
  const chain = range(vectors).reduce((sum, i) => `fma(${pair(i)[0]}, ${pair(i)[1]}, ${sum})`, "vec4f()");
  return `let ${name}4 = ${chain};
let ${name} = (${name}4.x + ${name}4.y) + (${name}4.z + ${name}4.w);`;
}

/** Strides are in vectors of four floats; `head` counts query heads. */
export const entry = ({ headWidth, lanes }: RowsOfLanes) =>
  `@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let qkvStride = (shape.heads + 2u * shape.kvHeads) * ${headWidth / 4}u;
  let outStride = shape.heads * ${headWidth / 4}u;
  let keys = shape.heads * ${headWidth / 4}u;
  let values = (shape.heads + shape.kvHeads) * ${headWidth / 4}u;
  let sequence = workgroup.z * shape.length;
  let row = workgroup.x * ${lanes}u + lane;
  let safeRow = min(row, shape.length - 1u);`;

const queryPlace = ({ headWidth, lanes }: RowsOfLanes) =>
  `  let head = workgroup.y;
  let kvHead = (head * shape.groupReciprocal) >> 16u;
  let own = (sequence + safeRow) * qkvStride + head * ${headWidth / 4}u;
  let end = min((workgroup.x + 1u) * ${lanes}u, shape.length);`;

/** Apart, because values held through the walk cost registers. */
const outputPlace = ({ headWidth }: RowsOfLanes) =>
  `  let outAt = (sequence + safeRow) * outStride + head * ${headWidth / 4}u;
  let rowAt = (workgroup.z * shape.heads + head) * shape.length + safeRow;`;

/**
 * The walk reads q0, … and updates o0, …, `peak` and `total`. Bindings: qkv, output, logSumExp, shape. Workgroups: (T /
 * lanes, heads, B).
 */
export function forwardText(of: RowsOfLanes, { memory = "", walk }: Walk): string {
  const vectors = of.headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read_write> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(3) var<uniform> shape: Shape;
${memory}

${entry(of)}
${queryPlace(of)}
${each(vectors, (i) => `let q${i} = qkv[own + ${i}u] * shape.scale;\nvar o${i} = vec4f();`)}
  var peak = -3.0e38;
  var total = 0.0;
${walk}
  if (row >= shape.length) {
    return;
  }
${outputPlace(of)}
${each(vectors, (i) => `output[outAt + ${i}u] = o${i} / total;`)}
  logSumExp[rowAt] = peak + log(total);
}
`;
}

/**
 * Gradient of q, and `delta` = sum(output * outputGradient) per row for the later kernels. The walk reads q0, …, g0, …,
 * `normalizer` and `rowDelta`, and updates d0, …. Bindings: qkv, output, outputGradient, logSumExp, delta, qkvGradient,
 * shape. Workgroups: (T / lanes, heads, B).
 */
export function queryGradientText(of: RowsOfLanes, { memory = "", walk }: Walk): string {
  const vectors = of.headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(3) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(4) var<storage, read_write> delta: array<f32>; // (B, heads, T)
@group(0) @binding(5) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the q columns
@group(0) @binding(6) var<uniform> shape: Shape;
${memory}

${entry(of)}
${queryPlace(of)}
${outputPlace(of)}
${
    each(vectors, (i) =>
      `let q${i} = qkv[own + ${i}u] * shape.scale;
let g${i} = outputGradient[outAt + ${i}u];
var d${i} = vec4f();`)
  }
${dot("rowDelta", vectors, (i) => [`g${i}`, `output[outAt + ${i}u]`])}
  let normalizer = logSumExp[rowAt];
${walk}
  if (row >= shape.length) {
    return;
  }
  delta[rowAt] = rowDelta;
${each(vectors, (i) => `qkvGradient[own + ${i}u] = d${i};`)}
}
`;
}
