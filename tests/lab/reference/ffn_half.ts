/** Second half of a block, without its residual: f = W_down (SiLU(W_gate n) * W_up n) with n = RMSNorm(a). */

import { linear, linearBackward, type LinearShape } from "./linear.ts";
import { type NormShape, rmsNorm, rmsNormBackward } from "./rms_norm.ts";
import { layerTensor, rowsOf, type StageModel, type Tensor } from "./stage_model.ts";
import { swiglu, swigluBackward } from "./swiglu.ts";

/** What the backward needs. */
export interface FfnHalf {
  readonly a: Float64Array; // (N, d)
  readonly normed: Float64Array; // (N, d)
  readonly gate: Float64Array; // (N, F)
  readonly up: Float64Array; // (N, F)
  readonly inner: Float64Array; // (N, F)
  readonly out: Float64Array; // (N, d)
}

interface Tensors {
  readonly gain: Tensor;
  readonly gate: Tensor;
  readonly up: Tensor;
  readonly down: Tensor;
}

function tensorsOf(model: StageModel, layer: number): Tensors {
  return {
    gain: layerTensor(model, layer, "post_attention_layernorm"),
    gate: layerTensor(model, layer, "mlp.gate_proj"),
    up: layerTensor(model, layer, "mlp.up_proj"),
    down: layerTensor(model, layer, "mlp.down_proj"),
  };
}

function shapesOf({ spec }: StageModel): { norm: NormShape; widen: LinearShape; narrow: LinearShape } {
  const { width, ffnWidth, normEpsilon } = spec.model;
  const rows = rowsOf(spec);
  return {
    norm: { rows, width, epsilon: normEpsilon },
    widen: { rows, inputs: width, outputs: ffnWidth },
    narrow: { rows, inputs: ffnWidth, outputs: width },
  };
}

export function ffnHalf(model: StageModel, layer: number, a: Float64Array): FfnHalf {
  const tensors = tensorsOf(model, layer);
  const shapes = shapesOf(model);
  const normed = rmsNorm({ x: a, gain: tensors.gain.value }, shapes.norm);
  const gate = linear({ x: normed, matrix: tensors.gate.value }, shapes.widen);
  const up = linear({ x: normed, matrix: tensors.up.value }, shapes.widen);
  const inner = swiglu({ gate, up });
  const out = linear({ x: inner, matrix: tensors.down.value }, shapes.narrow);
  return { a, normed, gate, up, inner, out };
}

export interface FfnHalfGradient {
  readonly saved: FfnHalf;
  readonly dOut: Float64Array; // (N, d)
}

/** da (N, d), without the residual's part; adds the gradients of the half's four tensors. */
export function ffnHalfBackward(model: StageModel, layer: number, { saved, dOut }: FfnHalfGradient): Float64Array {
  const { a, normed, gate, up, inner } = saved;
  const tensors = tensorsOf(model, layer);
  const shapes = shapesOf(model);
  const through = (tensor: Tensor, dy: Float64Array) =>
    linearBackward({ x: normed, matrix: tensor.value, dy, dMatrix: tensor.gradient }, shapes.widen);

  const { value: matrix, gradient: dMatrix } = tensors.down;
  const dInner = linearBackward({ x: inner, matrix, dy: dOut, dMatrix }, shapes.narrow);
  const { dGate, dUp } = swigluBackward({ gate, up, dy: dInner });
  const fromGate = through(tensors.gate, dGate);
  const fromUp = through(tensors.up, dUp);
  const dNormed = fromGate.map((value, i) => value + fromUp[i]!);
  const { value: gain, gradient: dGain } = tensors.gain;
  return rmsNormBackward({ x: a, gain, dy: dNormed, dGain }, shapes.norm);
}
