/** First half of a block, without its residual: projections, RoPE and attention of RMSNorm(x), then the output projection. */

import { ropeScalingOf } from "../../../core/model/rope.ts";
import { attention, attentionBackward, type AttentionShape } from "./attention.ts";
import { linear, linearBackward, type LinearShape } from "./linear.ts";
import { type NormShape, rmsNorm, rmsNormBackward } from "./rms_norm.ts";
import { rope, ropeBackward, type RopeShape } from "./rope.ts";
import { layerTensor, rowsOf, type StageModel, type Tensor } from "./stage_model.ts";

/** What the backward needs. */
export interface AttentionHalf {
  readonly x: Float64Array; // (N, d)
  readonly normed: Float64Array; // (N, d)
  readonly q: Float64Array; // (B, T, H, hd), turned
  readonly k: Float64Array; // (B, T, G, hd), turned
  readonly v: Float64Array; // (B, T, G, hd)
  readonly probabilities: Float64Array; // (B, H, T, T)
  readonly mixed: Float64Array; // (N, d), before the output projection
  readonly out: Float64Array; // (N, d)
}

interface Shapes {
  readonly norm: NormShape;
  readonly query: LinearShape; // d -> d, also the output projection
  readonly keyValue: LinearShape; // d -> G * hd
  readonly attention: AttentionShape;
  readonly queryRope: RopeShape;
  readonly keyRope: RopeShape;
}

function shapesOf({ spec }: StageModel): Shapes {
  const { width, heads, kvHeads, contextLength, ropeBase, normEpsilon } = spec.model;
  const rows = rowsOf(spec);
  const headWidth = width / heads;
  const turns = { base: ropeBase, scaling: ropeScalingOf(spec.model) };
  const grid = { sequences: spec.sequences, positions: contextLength, headWidth };
  return {
    norm: { rows, width, epsilon: normEpsilon },
    query: { rows, inputs: width, outputs: width },
    keyValue: { rows, inputs: width, outputs: kvHeads * headWidth },
    attention: { ...grid, heads, kvHeads },
    queryRope: { ...grid, ...turns, heads },
    keyRope: { ...grid, ...turns, heads: kvHeads },
  };
}

interface Tensors {
  readonly gain: Tensor;
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  readonly o: Tensor;
}

function tensorsOf(model: StageModel, layer: number): Tensors {
  return {
    gain: layerTensor(model, layer, "input_layernorm"),
    q: layerTensor(model, layer, "self_attn.q_proj"),
    k: layerTensor(model, layer, "self_attn.k_proj"),
    v: layerTensor(model, layer, "self_attn.v_proj"),
    o: layerTensor(model, layer, "self_attn.o_proj"),
  };
}

export function attentionHalf(model: StageModel, layer: number, x: Float64Array): AttentionHalf {
  const tensors = tensorsOf(model, layer);
  const shapes = shapesOf(model);
  const normed = rmsNorm({ x, gain: tensors.gain.value }, shapes.norm);
  const q = rope(linear({ x: normed, matrix: tensors.q.value }, shapes.query), shapes.queryRope);
  const k = rope(linear({ x: normed, matrix: tensors.k.value }, shapes.keyValue), shapes.keyRope);
  const v = linear({ x: normed, matrix: tensors.v.value }, shapes.keyValue);
  const { out: mixed, probabilities } = attention({ q, k, v }, shapes.attention);
  const out = linear({ x: mixed, matrix: tensors.o.value }, shapes.query);
  return { x, normed, q, k, v, probabilities, mixed, out };
}

export interface AttentionHalfGradient {
  readonly saved: AttentionHalf;
  readonly dOut: Float64Array; // (N, d)
}

/** dx (N, d); adds the gradients of the half's five tensors. */
export function attentionHalfBackward(
  model: StageModel,
  layer: number,
  { saved, dOut }: AttentionHalfGradient,
): Float64Array {
  const { x, normed, q, k, v, probabilities, mixed } = saved;
  const tensors = tensorsOf(model, layer);
  const shapes = shapesOf(model);
  const through = (tensor: Tensor, dy: Float64Array, shape: LinearShape) =>
    linearBackward({ x: normed, matrix: tensor.value, dy, dMatrix: tensor.gradient }, shape);

  const { value: matrix, gradient: dMatrix } = tensors.o;
  const dMixed = linearBackward({ x: mixed, matrix, dy: dOut, dMatrix }, shapes.query);
  const { dq, dk, dv } = attentionBackward({ q, k, v, probabilities, dOut: dMixed }, shapes.attention);
  const fromQ = through(tensors.q, ropeBackward(dq, shapes.queryRope), shapes.query);
  const fromK = through(tensors.k, ropeBackward(dk, shapes.keyRope), shapes.keyValue);
  const fromV = through(tensors.v, dv, shapes.keyValue);
  const dNormed = fromQ.map((value, i) => value + fromK[i]! + fromV[i]!);
  const { value: gain, gradient: dGain } = tensors.gain;
  return rmsNormBackward({ x, gain, dy: dNormed, dGain }, shapes.norm);
}
