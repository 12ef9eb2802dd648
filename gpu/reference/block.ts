/**
 * One transformer block: a = x + Attn(x), output = a + Ffn(a). The first and the last block of a stage have a codec's ends
 * instead, either or both (codecs/): x and a are made of the wire that was received, the output is the wire to send.
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

export function blockForward(model: StageModel, layer: number, input: Float64Array): BlockPass {
  const { receiver, receiving, sender, sending } = endsOf(model, layer);
  const attention = attentionHalf(model, layer, receiver.expand(receiving, input));
  const a = receiver.rejoin(receiving, { z: input, x: attention.x, y: attention.out });
  const ffn = ffnHalf(model, layer, a);
  return { layer, input, attention, ffn, output: sender.send(sending, { a, f: ffn.out }) };
}

/** Gradient of the block's input; adds the gradients of its tensors. */
export function blockBackward(model: StageModel, pass: BlockPass, dOutput: Float64Array): Float64Array {
  const { layer, input, attention, ffn } = pass;
  const { receiver, receiving, sender, sending } = endsOf(model, layer);
  const { df, da: daResidual } = sender.backward(sending, { a: ffn.a, f: ffn.out, dz: dOutput });
  const daFfn = ffnHalfBackward(model, layer, { saved: ffn, dOut: df });
  const da = daResidual.map((value, i) => value + daFfn[i]!);
  const dx = attentionHalfBackward(model, layer, { saved: attention, dOut: da });
  return receiver.backward(receiving, { z: input, x: attention.x, dx, da });
}
