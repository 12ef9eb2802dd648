/**
 * One transformer block: a = x + Attn(x), output = a + Ffn(a). The first and the last block of a stage have a codec's ends
 * instead, either or both (codecs/): x and a are made from the received wire, the output is the wire to send.
 */

import { type AttentionHalf, attentionHalf, attentionHalfBackward } from "./attention_half.ts";
import type { ReferenceEnd, ReferenceReceiver, ReferenceSender } from "./codecs/codec.ts";
import { referenceCodecs } from "./codecs/codecs.ts";
import { noneReference } from "./codecs/none.ts";
import { type FfnHalf, ffnHalf, ffnHalfBackward } from "./ffn_half.ts";
import type { StageModel } from "./stage_model.ts";

/** What the backward needs. */
export interface BlockPass {
  readonly layer: number;
  readonly input: Float64Array; // (N, d), or z (N, w) when receiving
  readonly expanded: Float64Array; // (N, d), what the receiver makes of the input
  readonly attention: AttentionHalf;
  readonly ffn: FfnHalf;
  readonly output: Float64Array; // (N, d), or z (N, w) when sending
}

interface Ends {
  readonly receiver: ReferenceReceiver;
  readonly receiving: ReferenceEnd;
  readonly sender: ReferenceSender;
  readonly sending: ReferenceEnd;
}

/** Between two blocks of a stage the residual stream crosses as it is, which is what codec `none` does. */
function endsOf(model: StageModel, layer: number): Ends {
  const { wireIn, wireOut, firstLayer, layerCount, model: { width } } = model.spec;
  const receives = layer === firstLayer ? wireIn : null;
  const sends = layer === firstLayer + layerCount - 1 ? wireOut : null;
  const plain = { width };
  return {
    receiver: (receives === null ? noneReference : referenceCodecs[receives.codec]).receiver,
    receiving: { model, wire: receives ?? plain },
    sender: (sends === null ? noneReference : referenceCodecs[sends.codec]).sender,
    sending: { model, wire: sends ?? plain },
  };
}

/** `side` (N, d): what the receiving stage adds of its own to the stream; null: nothing. */
export function blockForward(
  model: StageModel,
  layer: number,
  { input, side = null }: { input: Float64Array; side?: Float64Array | null },
): BlockPass {
  const { receiver, receiving, sender, sending } = endsOf(model, layer);
  const expanded = receiver.expand(receiving, input);
  const attention = attentionHalf(model, layer, plus(expanded, side));
  const a = plus(receiver.rejoin(receiving, { z: input, x: expanded, y: attention.out }), side);
  const ffn = ffnHalf(model, layer, a);
  return { layer, input, expanded, attention, ffn, output: sender.send(sending, { a, f: ffn.out }) };
}

const plus = (a: Float64Array, b: Float64Array | null): Float64Array =>
  b === null ? a : a.map((value, i) => value + b[i]!);

export interface BlockGradients {
  readonly input: Float64Array; // (N, d), or dz (N, w) when receiving
  readonly side: Float64Array; // (N, d)
}

/** Adds the gradients of the block's tensors. */
export function blockBackward(model: StageModel, pass: BlockPass, dOutput: Float64Array): BlockGradients {
  const { layer, input, expanded, attention, ffn } = pass;
  const { receiver, receiving, sender, sending } = endsOf(model, layer);
  const { df, da: daResidual } = sender.backward(sending, { a: ffn.a, f: ffn.out, dz: dOutput });
  const daFfn = ffnHalfBackward(model, layer, { saved: ffn, dOut: df });
  const da = daResidual.map((value, i) => value + daFfn[i]!);
  const dx = attentionHalfBackward(model, layer, { saved: attention, dOut: da });
  return { input: receiver.backward(receiving, { z: input, x: expanded, dx, da }), side: plus(dx, da) };
}
