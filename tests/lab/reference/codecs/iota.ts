/**
 * Codec `iota` in float64: the two ends of the bottleneck, the block of the original IOTA (arXiv 2507.17766).
 *
 * Sender, in place of the last block's second residual:   z = E SiLU(f) + a[:, :r]
 * Receiver, in place of the first block's attention input: x0 = ReLU(D z), and in place of its first residual: y[:, :r] += z
 *
 * Only r of the d residual coordinates cross a boundary; the receiver's attention regenerates the others from x0.
 */

import { decoderName, encoderName } from "../../../../core/codec/iota.ts";
import { linear, linearBackward } from "../linear.ts";
import { rowsOf, tensorOf } from "../stage_model.ts";
import { silu, siluBackward } from "../swiglu.ts";
import type { ReferenceCodec, ReferenceEnd, ReferenceReceiver, ReferenceSender } from "./codec.ts";

export interface BottleneckShape {
  readonly rows: number; // N
  readonly width: number; // d
  readonly wireWidth: number; // r <= d
}

const shapeOf = ({ model: { spec }, wire }: ReferenceEnd): BottleneckShape => ({
  rows: rowsOf(spec),
  width: spec.model.width,
  wireWidth: wire.width,
});
const decoderOf = ({ model }: ReferenceEnd) => tensorOf(model, decoderName(model.spec.index));
const encoderOf = ({ model }: ReferenceEnd) => tensorOf(model, encoderName(model.spec.index + 1));

const receiver: ReferenceReceiver = {
  expand: (end, z) => decodeBottleneck({ z, decoder: decoderOf(end).value }, shapeOf(end)),
  rejoin(end, { z, y }) {
    const a = y.slice();
    addLeading({ wide: a, narrow: z }, shapeOf(end));
    return a;
  },
  backward(end, { z, x, dx, da }) {
    const shape = shapeOf(end);
    const { value: decoder, gradient: dDecoder } = decoderOf(end);
    const dz = decodeBottleneckBackward({ z, decoder, x0: x, dx0: dx, dDecoder }, shape);
    const residual = takeLeading(da, shape);
    return dz.map((value, i) => value + residual[i]!);
  },
};

const sender: ReferenceSender = {
  send: (end, { a, f }) => encodeBottleneck({ f, a, encoder: encoderOf(end).value }, shapeOf(end)),
  backward(end, { f, dz }) {
    const { value: encoder, gradient: dEncoder } = encoderOf(end);
    return encodeBottleneckBackward({ f, encoder, dz, dEncoder }, shapeOf(end));
  },
};

export const iotaReference: ReferenceCodec = { receiver, sender };

/** Adds `narrow` (N, r) to the first r channels of `wide` (N, d), in place. */
export function addLeading(
  { wide, narrow }: { wide: Float64Array; narrow: Float64Array },
  { rows, width, wireWidth }: BottleneckShape,
): void {
  for (let n = 0; n < rows; n++) {
    for (let c = 0; c < wireWidth; c++) wide[n * width + c]! += narrow[n * wireWidth + c]!;
  }
}

/** The first r channels of `wide` (N, d), as (N, r). */
export function takeLeading(wide: Float64Array, { rows, width, wireWidth }: BottleneckShape): Float64Array {
  const narrow = new Float64Array(rows * wireWidth);
  for (let n = 0; n < rows; n++) {
    for (let c = 0; c < wireWidth; c++) narrow[n * wireWidth + c] = wide[n * width + c]!;
  }
  return narrow;
}

export interface EncodeOperands {
  readonly f: Float64Array; // (N, d), the block's FFN output
  readonly a: Float64Array; // (N, d), its residual stream after attention
  readonly encoder: Float64Array; // (r, d)
}

/** z (N, r) */
export function encodeBottleneck({ f, a, encoder }: EncodeOperands, shape: BottleneckShape): Float64Array {
  const { rows, width, wireWidth } = shape;
  const z = linear({ x: silu(f), matrix: encoder }, { rows, inputs: width, outputs: wireWidth });
  const residual = takeLeading(a, shape);
  return z.map((value, i) => value + residual[i]!);
}

export interface EncodeGradients {
  readonly f: Float64Array; // (N, d)
  readonly encoder: Float64Array; // (r, d)
  readonly dz: Float64Array; // (N, r)
  readonly dEncoder: Float64Array; // (r, d), added to
}

/** df and da, both (N, d). */
export function encodeBottleneckBackward(
  { f, encoder, dz, dEncoder }: EncodeGradients,
  shape: BottleneckShape,
): { df: Float64Array; da: Float64Array } {
  const { rows, width, wireWidth } = shape;
  const linearShape = { rows, inputs: width, outputs: wireWidth };
  const dActivated = linearBackward({ x: silu(f), matrix: encoder, dy: dz, dMatrix: dEncoder }, linearShape);
  const da = new Float64Array(rows * width);
  addLeading({ wide: da, narrow: dz }, shape);
  return { df: siluBackward({ x: f, dy: dActivated }), da };
}

export interface DecodeOperands {
  readonly z: Float64Array; // (N, r)
  readonly decoder: Float64Array; // (d, r)
}

/** x0 (N, d) */
export function decodeBottleneck({ z, decoder }: DecodeOperands, shape: BottleneckShape): Float64Array {
  const { rows, width, wireWidth } = shape;
  const lifted = linear({ x: z, matrix: decoder }, { rows, inputs: wireWidth, outputs: width });
  return lifted.map((value) => Math.max(value, 0));
}

export interface DecodeGradients extends DecodeOperands {
  readonly x0: Float64Array; // (N, d), the forward's result: where it is zero the ReLU was closed
  readonly dx0: Float64Array; // (N, d)
  readonly dDecoder: Float64Array; // (d, r), added to
}

/** dz (N, r), without the part that arrives through the residual. */
export function decodeBottleneckBackward(
  { z, decoder, x0, dx0, dDecoder }: DecodeGradients,
  { rows, width, wireWidth }: BottleneckShape,
): Float64Array {
  const dLifted = dx0.map((g, i) => x0[i]! > 0 ? g : 0);
  const shape = { rows, inputs: wireWidth, outputs: width };
  return linearBackward({ x: z, matrix: decoder, dy: dLifted, dMatrix: dDecoder }, shape);
}
