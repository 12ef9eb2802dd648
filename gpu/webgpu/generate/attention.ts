/**
 * WGSL of causal grouped-query attention in the "register flash" form: an invocation keeps one query row (forward,
 * gradient of q) or key row (gradients of k and v) in registers and walks the other side at addresses that all lanes
 * share. The softmax is online; its log-sum-exp is kept for the backward, so no T x T buffer exists. Each output has
 * one writer and a fixed order. The head width is baked, because it decides the number of registers.
 */

import { attentionShape, dot, entry, forwardText, queryGradientText, type RowsOfLanes } from "./attention_text.ts";
import { each } from "./unrolled.ts";

export function attentionForwardSource(of: RowsOfLanes): string {
  const vectors = of.headWidth / 4;
  return forwardText(of, {
    walk: `  for (var other = 0u; other < end; other++) {
    let key = (sequence + other) * qkvStride + keys + kvHead * ${vectors}u;
    let value = (sequence + other) * qkvStride + values + kvHead * ${vectors}u;
${dot("product", vectors, (i) => [`q${i}`, `qkv[key + ${i}u]`])}
    let score = select(-3.0e38, product, other <= row);
    let newPeak = max(peak, score);
    let kept = exp(peak - newPeak);
    let weight = exp(score - newPeak);
    peak = newPeak;
    total = fma(total, kept, weight);
${each(vectors, (i) => `o${i} = fma(vec4f(weight), qkv[value + ${i}u], o${i} * kept);`)}
  }`,
  });
}

export function attentionQueryGradientSource(of: RowsOfLanes): string {
  const vectors = of.headWidth / 4;
  return queryGradientText(of, {
    walk: `  for (var other = 0u; other < end; other++) {
    let key = (sequence + other) * qkvStride + keys + kvHead * ${vectors}u;
    let value = (sequence + other) * qkvStride + values + kvHead * ${vectors}u;
${each(vectors, (i) => `let k${i} = qkv[key + ${i}u];`)}
${dot("product", vectors, (i) => [`q${i}`, `k${i}`])}
${dot("weightGradient", vectors, (i) => [`g${i}`, `qkv[value + ${i}u]`])}
    let weight = select(0.0, exp(product - normalizer), other <= row);
    let scoreGradient = weight * (weightGradient - rowDelta) * shape.scale;
${each(vectors, (i) => `d${i} = fma(vec4f(scoreGradient), k${i}, d${i});`)}
  }`,
  });
}

/**
 * Gradients of k and v, summed over the group's query heads. Bindings: qkv, outputGradient, logSumExp, delta,
 * qkvGradient, shape. Workgroups: (T / lanes, kvHeads, B).
 */
export function attentionKeyValueGradientSource(of: RowsOfLanes): string {
  const { headWidth, lanes } = of;
  const vectors = headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(3) var<storage, read> delta: array<f32>; // (B, heads, T)
@group(0) @binding(4) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the k and v columns
@group(0) @binding(5) var<uniform> shape: Shape;

${entry(of)}
  let kvHead = workgroup.y;
  let key = (sequence + safeRow) * qkvStride + keys + kvHead * ${vectors}u;
  let value = (sequence + safeRow) * qkvStride + values + kvHead * ${vectors}u;
${
    each(vectors, (i) =>
      `let k${i} = qkv[key + ${i}u] * shape.scale;
let v${i} = qkv[value + ${i}u];
var dk${i} = vec4f();
var dv${i} = vec4f();`)
  }
  let first = workgroup.x * ${lanes}u;
  var head = kvHead * shape.group;
  var other = first;
  // One flat loop over (head, other): Mesa does not see that the addresses in a nested loop are uniform (30x slower).
  let steps = shape.group * (shape.length - first);
  for (var step = 0u; step < steps; step++) {
      let at = (sequence + other) * qkvStride + head * ${vectors}u;
      let outAt = (sequence + other) * outStride + head * ${vectors}u;
      let rowAt = (workgroup.z * shape.heads + head) * shape.length + other;
${each(vectors, (i) => `let q${i} = qkv[at + ${i}u];\nlet g${i} = outputGradient[outAt + ${i}u];`)}
${dot("product", vectors, (i) => [`q${i}`, `k${i}`])}
${dot("weightGradient", vectors, (i) => [`g${i}`, `v${i}`])}
      let weight = select(0.0, exp(product - logSumExp[rowAt]), row <= other);
      let scoreGradient = weight * (weightGradient - delta[rowAt]) * shape.scale;
${
    each(vectors, (i) =>
      `dk${i} = fma(vec4f(scoreGradient), q${i}, dk${i});
dv${i} = fma(vec4f(weight), g${i}, dv${i});`)
  }
    other++;
    if (other == shape.length) {
      other = first;
      head++;
    }
  }
  if (row >= shape.length) {
    return;
  }
${each(vectors, (i) => `qkvGradient[key + ${i}u] = dk${i};\nqkvGradient[value + ${i}u] = dv${i};`)}
}
`;
}
