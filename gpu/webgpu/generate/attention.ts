/**
 * WGSL text of causal grouped-query attention in the "register flash" form: one invocation owns one query row (forward, and
 * the gradient of q) or one key row (gradients of k and v), keeps it in registers, and walks the other side at addresses that
 * are the same in all lanes. The softmax is online; its log-sum-exp is kept, so the backward pass recomputes probabilities
 * and no T x T buffer exists. No atomics: each output has one writer and a fixed order.
 *
 * Only the head width is baked (it decides how many registers there are); all other sizes come from a uniform.
 */

import { attentionShape, dot, each, entry, strides } from "./attention_text.ts";

export interface AttentionSettings {
  readonly headWidth: number; // multiple of 4
  readonly lanes: number; // rows per workgroup
}

/** Bindings: qkv, output, logSumExp, shape. Workgroups: (T / lanes, heads, B). */
export function attentionForwardSource({ headWidth, lanes }: AttentionSettings): string {
  const vectors = headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read_write> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(3) var<uniform> shape: Shape;

${entry(lanes)}
${strides(vectors)}
  let head = workgroup.y;
  let kvHead = (head * shape.groupReciprocal) >> 16u;
  let row = workgroup.x * ${lanes}u + lane;
  let safeRow = min(row, shape.length - 1u);
  let at = (sequence + safeRow) * qkvStride + head * ${vectors}u;
${each(vectors, (i) => `let q${i} = qkv[at + ${i}u] * shape.scale;\nvar o${i} = vec4f();`)}
  var peak = -3.0e38;
  var total = 0.0;
  let end = min((workgroup.x + 1u) * ${lanes}u, shape.length);
  for (var other = 0u; other < end; other++) {
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

/**
 * Gradient towards q, and `delta` = sum(output * outputGradient) of each row for the other backward kernel, which runs after.
 * Bindings: qkv, output, outputGradient, logSumExp, delta, qkvGradient, shape. Workgroups: (T / lanes, heads, B).
 */
export function attentionQueryGradientSource({ headWidth, lanes }: AttentionSettings): string {
  const vectors = headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> output: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(3) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(4) var<storage, read_write> delta: array<f32>; // (B, heads, T)
@group(0) @binding(5) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the q columns
@group(0) @binding(6) var<uniform> shape: Shape;

${entry(lanes)}
${strides(vectors)}
  let head = workgroup.y;
  let kvHead = (head * shape.groupReciprocal) >> 16u;
  let row = workgroup.x * ${lanes}u + lane;
  let safeRow = min(row, shape.length - 1u);
  let at = (sequence + safeRow) * qkvStride + head * ${vectors}u;
  let outAt = (sequence + safeRow) * outStride + head * ${vectors}u;
  let rowAt = (workgroup.z * shape.heads + head) * shape.length + safeRow;
${
    each(vectors, (i) =>
      `let q${i} = qkv[at + ${i}u] * shape.scale;
let g${i} = outputGradient[outAt + ${i}u];
var d${i} = vec4f();`)
  }
${dot("rowDelta", vectors, (i) => [`g${i}`, `output[outAt + ${i}u]`])}
  let normalizer = logSumExp[rowAt];
  let end = min((workgroup.x + 1u) * ${lanes}u, shape.length);
  for (var other = 0u; other < end; other++) {
    let key = (sequence + other) * qkvStride + keys + kvHead * ${vectors}u;
    let value = (sequence + other) * qkvStride + values + kvHead * ${vectors}u;
${each(vectors, (i) => `let k${i} = qkv[key + ${i}u];`)}
${dot("product", vectors, (i) => [`q${i}`, `k${i}`])}
${dot("weightGradient", vectors, (i) => [`g${i}`, `qkv[value + ${i}u]`])}
    let weight = select(0.0, exp(product - normalizer), other <= row);
    let scoreGradient = weight * (weightGradient - rowDelta) * shape.scale;
${each(vectors, (i) => `d${i} = fma(vec4f(scoreGradient), k${i}, d${i});`)}
  }
  if (row >= shape.length) {
    return;
  }
  delta[rowAt] = rowDelta;
${each(vectors, (i) => `qkvGradient[at + ${i}u] = d${i};`)}
}
`;
}

/**
 * Gradients towards k and v, summed over the query heads of the group.
 * Bindings: qkv, outputGradient, logSumExp, delta, qkvGradient, shape. Workgroups: (T / lanes, kvHeads, B).
 */
export function attentionKeyValueGradientSource({ headWidth, lanes }: AttentionSettings): string {
  const vectors = headWidth / 4;
  return `${attentionShape}
@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // (B, T, heads + 2 kvHeads, headWidth)
@group(0) @binding(1) var<storage, read> outputGradient: array<vec4f>; // (B, T, heads, headWidth)
@group(0) @binding(2) var<storage, read> logSumExp: array<f32>; // (B, heads, T)
@group(0) @binding(3) var<storage, read> delta: array<f32>; // (B, heads, T)
@group(0) @binding(4) var<storage, read_write> qkvGradient: array<vec4f>; // as qkv; writes the k and v columns
@group(0) @binding(5) var<uniform> shape: Shape;

${entry(lanes)}
${strides(vectors)}
  let kvHead = workgroup.y;
  let row = workgroup.x * ${lanes}u + lane;
  let safeRow = min(row, shape.length - 1u);
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
