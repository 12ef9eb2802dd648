/**
 * One transformer block, in its four forms: plain, receiving from a bottleneck wire, sending into one, and both at once.
 *
 * plain:      a = x + Attn(x);                 output = a + Ffn(a)
 * receiving:  x = ReLU(D z), a = Attn(x) with z added to its first r channels
 * sending:    output = E SiLU(Ffn(a)) + a[:, :r]
 */

import { type AttentionHalf, attentionHalf, attentionHalfBackward } from "./attention_half.ts";
import {
  addLeading,
  type BottleneckShape,
  decodeBottleneck,
  decodeBottleneckBackward,
  encodeBottleneck,
  encodeBottleneckBackward,
  takeLeading,
} from "./bottleneck.ts";
import { type FfnHalf, ffnHalf, ffnHalfBackward } from "./ffn_half.ts";
import { rowsOf, type StageModel, type Tensor, tensorOf } from "./stage_model.ts";

/** What the backward needs. */
export interface BlockPass {
  readonly layer: number;
  readonly input: Float64Array; // (N, d), or z (N, r) when receiving
  readonly attention: AttentionHalf;
  readonly ffn: FfnHalf;
  readonly output: Float64Array; // (N, d), or z (N, r) when sending
}

interface BottleneckEnd {
  readonly shape: BottleneckShape;
  readonly tensor: Tensor;
}

function receiverOf(model: StageModel, layer: number): BottleneckEnd | null {
  const { spec } = model;
  if (spec.wireIn?.codec !== "iota" || layer !== spec.firstLayer) return null;
  const shape = { rows: rowsOf(spec), width: spec.model.width, wireWidth: spec.wireIn.width };
  return { shape, tensor: tensorOf(model, `model.boundary.${spec.index}.decoder.weight`) };
}

function senderOf(model: StageModel, layer: number): BottleneckEnd | null {
  const { spec } = model;
  if (spec.wireOut?.codec !== "iota" || layer !== spec.firstLayer + spec.layerCount - 1) return null;
  const shape = { rows: rowsOf(spec), width: spec.model.width, wireWidth: spec.wireOut.width };
  return { shape, tensor: tensorOf(model, `model.boundary.${spec.index + 1}.encoder.weight`) };
}

function sum(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]!);
}

export function blockForward(model: StageModel, layer: number, input: Float64Array): BlockPass {
  const receiver = receiverOf(model, layer);
  const sender = senderOf(model, layer);
  const x = receiver === null ? input : decodeBottleneck({ z: input, decoder: receiver.tensor.value }, receiver.shape);
  const attention = attentionHalf(model, layer, x);
  const a = receiver === null ? sum(x, attention.out) : attention.out.slice();
  if (receiver !== null) addLeading({ wide: a, narrow: input }, receiver.shape);
  const ffn = ffnHalf(model, layer, a);
  const output = sender === null
    ? sum(a, ffn.out)
    : encodeBottleneck({ f: ffn.out, a, encoder: sender.tensor.value }, sender.shape);
  return { layer, input, attention, ffn, output };
}

/** Gradient of the block's input; adds the gradients of its tensors. */
export function blockBackward(model: StageModel, pass: BlockPass, dOutput: Float64Array): Float64Array {
  const { layer, input, attention, ffn } = pass;
  const receiver = receiverOf(model, layer);
  const sender = senderOf(model, layer);
  const { df, da: daResidual } = sender === null ? { df: dOutput, da: dOutput } : encodeBottleneckBackward(
    { f: ffn.out, encoder: sender.tensor.value, dz: dOutput, dEncoder: sender.tensor.gradient },
    sender.shape,
  );
  const da = sum(daResidual, ffnHalfBackward(model, layer, { saved: ffn, dOut: df }));
  const dx = attentionHalfBackward(model, layer, { saved: attention, dOut: da });
  if (receiver === null) return sum(dx, da);
  const { value: decoder, gradient: dDecoder } = receiver.tensor;
  const dz = decodeBottleneckBackward({ z: input, decoder, x0: attention.x, dx0: dx, dDecoder }, receiver.shape);
  return sum(dz, takeLeading(da, receiver.shape));
}
