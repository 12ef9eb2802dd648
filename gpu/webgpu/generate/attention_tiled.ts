/**
 * attention.ts for real GPUs: rows come through workgroup memory in tiles, several at once, so that a lane has
 * independent sums. The gradients of k and v are two kernels, because one needs more registers than a GPU gives a lane.
 * Results differ from attention.ts's in the last bits.
 */

import { attentionShape, dot, entry, forwardText, queryGradientText, type RowsOfLanes } from "./attention_text.ts";
import { each, range } from "./unrolled.ts";

interface TiledAttention extends RowsOfLanes {
  readonly together: number; // rows of the other side; divides a tile's rows
}

const tileBytes = 16_384; // both tiles: what every adapter allows a workgroup

/** 32 for heads of at most 64. */
const tileRows = ({ headWidth, together }: TiledAttention): number =>
  Math.min(32, Math.floor(tileBytes / (2 * 4 * headWidth) / together) * together);

/** A workgroup has no room for tiles of wider heads. */
export const widestTiled = ({ together }: { readonly together: number }): number => tileBytes / (2 * 4 * together);

/** What is read at `left` and `right` of each row. */
const tiles = (of: TiledAttention) =>
  `var<workgroup> left: array<array<vec4f, ${of.headWidth / 4}>, ${tileRows(of)}>;
var<workgroup> right: array<array<vec4f, ${of.headWidth / 4}>, ${tileRows(of)}>;`;

interface Source {
  readonly left: string; // an expression of `other`, the row in the sequence
  readonly right: string;
}

/** Rows past the end repeat the last one. */
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

const throughTile = (of: TiledAttention, body: string) =>
  `    for (var at = 0u; at < ${tileRows(of)}u; at += ${of.together}u) {
${body}
    }`;

function throughKeys(of: TiledAttention, body: string): { memory: string; walk: string } {
  const vectors = of.headWidth / 4;
  return {
    memory: tiles(of),
    walk: `  for (var first = 0u; first < end; first += ${tileRows(of)}u) {
${
      bring(of, {
        left: `qkv[other * qkvStride + keys + kvHead * ${vectors}u + i]`,
        right: `qkv[other * qkvStride + values + kvHead * ${vectors}u + i]`,
      })
    }
${throughTile(of, body)}
  }`,
  };
}

export function tiledForwardSource(of: TiledAttention): string {
  const vectors = of.headWidth / 4;
  const others = range(of.together);
  const scores = others.map((j) =>
    `${dot(`product${j}_`, vectors, (i) => [`q${i}`, `left[at + ${j}u][${i}]`])}
let score${j} = select(-3.0e38, product${j}_, first + at + ${j}u <= row);`
  );
  const weighted = (i: number) =>
    others.reduce((sum, j) => `fma(vec4f(weight${j}), right[at + ${j}u][${i}], ${sum})`, `o${i} * kept`);
  return forwardText(
    of,
    throughKeys(
      of,
      `${scores.join("\n")}
let newPeak = ${others.reduce((most, j) => `max(${most}, score${j})`, "peak")};
let kept = exp(peak - newPeak);
${others.map((j) => `let weight${j} = exp(score${j} - newPeak);`).join("\n")}
peak = newPeak;
total = fma(total, kept, ${others.map((j) => `weight${j}`).join(" + ")});
${each(vectors, (i) => `o${i} = ${weighted(i)};`)}`,
    ),
  );
}

export function tiledQueryGradientSource(of: TiledAttention): string {
  const vectors = of.headWidth / 4;
  const others = range(of.together);
  const factors = others.map((j) =>
    `${dot(`product${j}_`, vectors, (i) => [`q${i}`, `left[at + ${j}u][${i}]`])}
${dot(`weightGradient${j}_`, vectors, (i) => [`g${i}`, `right[at + ${j}u][${i}]`])}
let weight${j} = select(0.0, exp(product${j}_ - normalizer), first + at + ${j}u <= row);
let scoreGradient${j} = weight${j} * (weightGradient${j}_ - rowDelta) * shape.scale;`
  );
  const added = (i: number) =>
    others.reduce((sum, j) => `fma(vec4f(scoreGradient${j}), left[at + ${j}u][${i}], ${sum})`, `d${i}`);
  return queryGradientText(
    of,
    throughKeys(of, `${factors.join("\n")}\n${each(vectors, (i) => `d${i} = ${added(i)};`)}`),
  );
}

/** Summed over the group's query heads. Bindings and workgroups as in attention.ts, for v without delta. */
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

${entry(of)}
  let kvHead = workgroup.y;
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
${dot(`product${j}_`, vectors, (i) => [`left[at + ${j}u][${i}]`, `k${i}`])}
let weight${j} = select(0.0, exp(product${j}_ - logSumExp[otherAt${j}]), row <= other${j} && other${j} < shape.length);
${
            isKey
              ? `${dot(`weightGradient${j}_`, vectors, (i) => [`right[at + ${j}u][${i}]`, `v${i}`])}
let factor${j} = weight${j} * (weightGradient${j}_ - delta[otherAt${j}]) * shape.scale;`
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
