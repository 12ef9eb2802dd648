/**
 * Codec `resbm`: the residual bottleneck (arXiv 2604.11947). The wire of the residual stream h is z = W_2 SiLU(W_1 h) +
 * h[:r]; the receiver continues with V_2 SiLU(V_1 z) + pad(z, d). Values cross as bfloat16 in both directions.
 *
 * Kept for comparison: at equal bytes it lost more than `iota` and the q-codes at `tiny` (tests/lab/LOG.md).
 */

import type { TensorDraft } from "../tensor.ts";
import { bfloat16 } from "./bfloat16.ts";
import type { Boundary, WireCodec } from "./codec.ts";

/** k, the values between the two matrices of an end. */
export const resbmHidden = (wireWidth: number) => Math.max(4 * wireWidth, 64);

/** (k, d), then (r, k), in the stage before the boundary. */
export const resbmEncoderNames = (index: number) => namesOf(index, "encoder");
/** (k, r), then (d, k), in the stage after it. */
export const resbmDecoderNames = (index: number) => namesOf(index, "decoder");

function namesOf(index: number, end: string): readonly [first: string, second: string] {
  return [`model.boundary.${index}.${end}.first.weight`, `model.boundary.${index}.${end}.second.weight`];
}

const std = 0.01; // a boundary starts nearly as "keep r columns"; larger values lost more at `tiny`

function tensorsOf(names: readonly [string, string], { boundary, from, to }: {
  readonly boundary: Boundary;
  readonly from: number;
  readonly to: number;
}): TensorDraft[] {
  const hidden = resbmHidden(boundary.wireWidth);
  return [
    { name: names[0], shape: [hidden, from], initial: { type: "normal", std } },
    { name: names[1], shape: [to, hidden], initial: { type: "normal", std } },
  ];
}

const flops = ({ modelWidth, wireWidth }: Pick<Boundary, "modelWidth" | "wireWidth">) =>
  2 * resbmHidden(wireWidth) * (modelWidth + wireWidth);

export const resbmCodec: WireCodec = {
  keepsStream: false,
  describe: (wireWidth) => ` with ${wireWidth} values per token`,
  wireWidth: ({ pipeline }) => pipeline.bottleneckWidth,
  formats: { forward: bfloat16, gradient: bfloat16 },
  sender: {
    tensors: (boundary) =>
      tensorsOf(resbmEncoderNames(boundary.index), { boundary, from: boundary.modelWidth, to: boundary.wireWidth }),
    flops,
  },
  receiver: {
    tensors: (boundary) =>
      tensorsOf(resbmDecoderNames(boundary.index), { boundary, from: boundary.wireWidth, to: boundary.modelWidth }),
    flops,
  },
};
