/**
 * What a wire codec computes, in float64: the first half of a stage's first block as its receiver changes it, and the end of the
 * last block as its sender does. codecs.ts is the table of all of them. Bytes and rounding are in core/codec.
 *
 * N = B * T rows, d the model's width, w the wire's.
 */

import type { WireSpec } from "../../../../core/codec/wire.ts";
import type { StageModel } from "../stage_model.ts";

/** One side of a boundary: the model of its stage, whose tensors hold the codec's. */
export interface ReferenceEnd {
  readonly model: StageModel;
  readonly wire: Pick<WireSpec, "width">;
}

/** The receiving block: x = expand(z), y = Attn(x), a = rejoin(z, x, y). */
export interface ReferenceReceiver {
  /** x (N, d), of z (N, w). */
  expand(end: ReferenceEnd, z: Float64Array): Float64Array;
  /** a (N, d), of z (N, w), x and y, both (N, d). */
  rejoin(end: ReferenceEnd, values: { z: Float64Array; x: Float64Array; y: Float64Array }): Float64Array;
  /** dz (N, w), of dx and da, both (N, d); dy is da. Adds the gradients of its tensors. */
  backward(end: ReferenceEnd, values: ReceiverGradients): Float64Array;
}

export interface ReceiverGradients {
  readonly z: Float64Array; // (N, w)
  readonly x: Float64Array; // (N, d), the forward's result
  readonly dx: Float64Array; // (N, d)
  readonly da: Float64Array; // (N, d)
}

/** The sending block: a is its residual stream after attention, f = Ffn(a). */
export interface ReferenceSender {
  /** z (N, w), of a and f, both (N, d). */
  send(end: ReferenceEnd, values: { a: Float64Array; f: Float64Array }): Float64Array;
  /** df and the residual's share of da, both (N, d), of dz (N, w). Adds the gradients of its tensors. */
  backward(end: ReferenceEnd, values: SenderGradients): { df: Float64Array; da: Float64Array };
}

export interface SenderGradients {
  readonly a: Float64Array; // (N, d)
  readonly f: Float64Array; // (N, d)
  readonly dz: Float64Array; // (N, w)
}

export interface ReferenceCodec {
  readonly receiver: ReferenceReceiver;
  readonly sender: ReferenceSender;
}
