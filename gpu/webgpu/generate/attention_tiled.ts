/**
 * The attention of attention.ts for real GPUs: the other side's rows come through workgroup memory, a tile at a time, and several of
 * them are worked on at once, so that a lane has independent sums to add to while it waits for one.
 *
 * As there, a lane owns a row and keeps it in registers, and each output has one writer and a fixed order. The gradients of k and
 * of v are two kernels: one that holds k, v and both gradients needs more registers than a GPU gives a lane. Results differ from
 * attention.ts's in the last bits.
 */

import { attentionShape, dot, each, entry, range, strides } from "./attention_text.ts";

export interface TiledAttention {
  readonly headWidth: number; // multiple of 4
  readonly lanes: number; // rows per workgroup
  readonly together: number; // rows of the other side worked on at once; divides a tile's
}

const tileBytes = 16_384; // of both tiles: what every adapter allows a workgroup

/** Rows of the other side in workgroup memory: 32 for heads of 64 and less. */
const tileRows = ({ headWidth, together }: TiledAttention): number =>
  Math.min(32, Math.floor(tileBytes / (2 * 4 * headWidth) / together) * together);

/** Of a head: beyond it, a workgroup has no room for rows that are worked on together. */
export const widestTiled = ({ together }: { readonly together: number }): number => tileBytes / (2 * 4 * together);

/** Two tiles, of what is read at `left` and `right` of each of the other side's rows. */
const tiles = (of: TiledAttention) =>
  `var<workgroup> left: array<array<vec4f, ${of.headWidth / 4}>, ${tileRows(of)}>;
var<workgroup> right: array<array<vec4f, ${of.headWidth / 4}>, ${tileRows(of)}>;`;

interface Source {
  readonly left: string; // an expression of `other`, the row in the sequence
  readonly right: string;
}

/** Brings the rows from `first` on into the tiles; rows past the end repeat the last one. */
function bring(of: TiledAttention, { left, right }: Source): string {
  const vectors = of.headWidth / 4;
  return `    workgroupBarrier();
    for (var e = lane; e < ${tileRows(of) * vectors}u; e += ${of.lanes}u) {
      let line = e / ${vectors}u;
      let i = e % ${vectors}u;
      let other = sequence + min(first + line, shape.length - 1u);
      left[line][i] = ${left};
      right[line][i] = ${right};
    }
    workgroupBarrier();`;
}

/** A loop over the tile's rows, `together` at a time; `at` is the first of them within the tile. */
const throughTile = (of: TiledAttention, body: string) =>
  `    for (var at = 0u; at < ${tileRows(of)}u; at += ${of.together}u) {
${body}
    }`;

const rowText = (lanes: number) =>
  `  let row = workgroup.x * ${lanes}u + lane;
  let safeRow = min(row, shape.length - 1u);`;

/** Bindings and workgroups as those of attention.ts. */
export function tiledForwardSource(of: TiledAttention): string {
  const { headWidth, lanes, together } = of;
  const vectors = headWidth / 4;
  const others = range(together);
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read_write> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(3) var<uniform> shape: Shape;
${tiles(of)}

${entry(lanes)}
${strides(vectors)}
  let head = workgroup.y;
  let kvHead = head / shape.group;
${rowText(lanes)}
  let own = (sequence + safeRow) * qkvStride + head * ${vectors}u;
${each(vectors, (i) => `let q${i} = qkv[own + ${i}u] * shape.scale;\nvar o${i} = vec4f();`)}
  var peak = -3.0e38;
  var total = 0.0;
  let end = min((workgroup.x + 1u) * ${lanes}u, shape.length);
  for (var first = 0u; first < end; first += ${tileRows(of)}u) {
${
    bring(of, {
      left: `qkv[other * qkvStride + keys + kvHead * ${vectors}u + i]`,
      right: `qkv[other * qkvStride + values + kvHead * ${vectors}u + i]`,
    })
  }
${
    throughTile(
      of,
      `${
        others.map((j) =>
          `${dot(`product${j}`, vectors, (i) => [`q${i}`, `left[at + ${j}u][${i}]`])}
let score${j} = select(-3.0e38, product${j}, first + at + ${j}u <= row);`
        ).join("\n")
      }
let newPeak = ${others.reduce((most, j) => `max(${most}, score${j})`, "peak")};
let kept = exp(peak - newPeak);
${others.map((j) => `let weight${j} = exp(score${j} - newPeak);`).join("\n")}
peak = newPeak;
total = fma(total, kept, ${others.map((j) => `weight${j}`).join(" + ")});
${
        each(vectors, (i) =>
          `o${i} = ${
            others.reduce((sum, j) => `fma(vec4f(weight${j}), right[at + ${j}u][${i}], ${sum})`, `o${i} * kept`)
          };`)
      }`,
    )
  }
  }
  if (row >= shape.length) {
    return;
  }
  let outAt = (sequence + row) * outStride + head * ${vectors}u;
${each(vectors, (i) => `output[outAt + ${i}u] = o${i} / total;`)}
  logSumExp[(workgroup.z * shape.heads + head) * shape.length + row] = peak + log(total);
}
`;
}

/** Bindings and workgroups as those of attention.ts: writes `delta`, too. */
export function tiledQueryGradientSource(of: TiledAttention): string {
  const { headWidth, lanes, together } = of;
  const vectors = headWidth / 4;
  const others = range(together);
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(3) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(4) var<storage, read_write> delta: array<f32>; // (B, heads, T)
@group(0) @binding(5) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the q columns
@group(0) @binding(6) var<uniform> shape: Shape;
${tiles(of)}

${entry(lanes)}
${strides(vectors)}
  let head = workgroup.y;
  let kvHead = head / shape.group;
${rowText(lanes)}
  let own = (sequence + safeRow) * qkvStride + head * ${vectors}u;
  let outAt = (sequence + safeRow) * outStride + head * ${vectors}u;
  let rowAt = (workgroup.z * shape.heads + head) * shape.length + safeRow;
${
    each(vectors, (i) =>
      `let q${i} = qkv[own + ${i}u] * shape.scale;
let g${i} = outputGradient[outAt + ${i}u];
var d${i} = vec4f();`)
  }
${dot("rowDelta", vectors, (i) => [`g${i}`, `output[outAt + ${i}u]`])}
  let normalizer = logSumExp[rowAt];
  let end = min((workgroup.x + 1u) * ${lanes}u, shape.length);
  for (var first = 0u; first < end; first += ${tileRows(of)}u) {
${
    bring(of, {
      left: `qkv[other * qkvStride + keys + kvHead * ${vectors}u + i]`,
      right: `qkv[other * qkvStride + values + kvHead * ${vectors}u + i]`,
    })
  }
${
    throughTile(
      of,
      `${
        others.map((j) =>
          `${dot(`product${j}`, vectors, (i) => [`q${i}`, `left[at + ${j}u][${i}]`])}
${dot(`weightGradient${j}`, vectors, (i) => [`g${i}`, `right[at + ${j}u][${i}]`])}
let weight${j} = select(0.0, exp(product${j} - normalizer), first + at + ${j}u <= row);
let scoreGradient${j} = weight${j} * (weightGradient${j} - rowDelta) * shape.scale;`
        ).join("\n")
      }
${
        each(vectors, (i) =>
          `d${i} = ${
            others.reduce((sum, j) => `fma(vec4f(scoreGradient${j}), left[at + ${j}u][${i}], ${sum})`, `d${i}`)
          };`)
      }`,
    )
  }
  }
  if (row >= shape.length) {
    return;
  }
  delta[rowAt] = rowDelta;
${each(vectors, (i) => `qkvGradient[own + ${i}u] = d${i};`)}
}
`;
}

/** The gradient of k, or of v, summed over the query heads of the group. Bindings and workgroups as those of attention.ts. */
export function tiledKeyValueGradientSource(of: TiledAttention & { readonly side: "key" | "value" }): string {
  const { headWidth, lanes, together, side } = of;
  const vectors = headWidth / 4;
  const others = range(together);
  const isKey = side === "key";
  const added = isKey ? "left" : "right";
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
${isKey ? "@group(0) @binding(3) var<storage, read> delta: array<f32>; // (B, heads, T)\n" : ""}@group(0) @binding(${
    isKey ? 4 : 3
  }) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the ${side} columns
@group(0) @binding(${isKey ? 5 : 4}) var<uniform> shape: Shape;
${tiles(of)}

${entry(lanes)}
${strides(vectors)}
  let kvHead = workgroup.y;
${rowText(lanes)}
  let key = (sequence + safeRow) * qkvStride + keys + kvHead * ${vectors}u;
  let value = (sequence + safeRow) * qkvStride + values + kvHead * ${vectors}u;
${
    each(vectors, (i) =>
      `let k${i} = qkv[key + ${i}u] * shape.scale;
${isKey ? `let v${i} = qkv[value + ${i}u];\n` : ""}var d${i} = vec4f();`)
  }
  for (var head = kvHead * shape.group; head < (kvHead + 1u) * shape.group; head++) {
  let rowsAt = (workgroup.z * shape.heads + head) * shape.length;
  for (var first = workgroup.x * ${lanes}u; first < shape.length; first += ${tileRows(of)}u) {
${
    bring(of, {
      left: `qkv[other * qkvStride + head * ${vectors}u + i]`,
      right: `outputGradient[other * outStride + head * ${vectors}u + i]`,
    })
  }
${
    throughTile(
      of,
      `${
        others.map((j) =>
          `let other${j} = first + at + ${j}u;
let otherAt${j} = rowsAt + min(other${j}, shape.length - 1u);
${dot(`product${j}`, vectors, (i) => [`left[at + ${j}u][${i}]`, `k${i}`])}
let weight${j} = select(0.0, exp(product${j} - logSumExp[otherAt${j}]), row <= other${j} && other${j} < shape.length);
${
            isKey
              ? `${dot(`weightGradient${j}`, vectors, (i) => [`right[at + ${j}u][${i}]`, `v${i}`])}
let factor${j} = weight${j} * (weightGradient${j} - delta[otherAt${j}]) * shape.scale;`
              : `let factor${j} = weight${j};`
          }`
        ).join("\n")
      }
${
        each(vectors, (i) =>
          `d${i} = ${
            others.reduce((sum, j) => `fma(vec4f(factor${j}), ${added}[at + ${j}u][${i}], ${sum})`, `d${i}`)
          };`)
      }`,
    )
  }
  }
  }
  if (row >= shape.length) {
    return;
  }
${each(vectors, (i) => `qkvGradient[${side} + ${i}u] = d${i};`)}
}
`;
}
