/**
 * Codec `resbm` in float64: an encoder and a decoder outside the blocks, beside a rectangular identity.
 *
 * Sender, of the residual stream h = a + f:   z = W_2 SiLU(W_1 h) + h[:, :r]
 * Receiver, the residual stream:              x = V_2 SiLU(V_1 z) + [z, 0]
 */

import { resbmDecoderNames, resbmEncoderNames, resbmHidden } from "../../../../core/codec/resbm.ts";
import { linear, linearBackward } from "../linear.ts";
import { rowsOf, tensorOf } from "../stage_model.ts";
import { silu, siluBackward } from "../swiglu.ts";
import type { ReferenceCodec, ReferenceEnd } from "./codec.ts";
import { addLeading, takeLeading } from "./iota.ts";

interface Mlp {
  readonly names: readonly [first: string, second: string];
  readonly inWidth: number;
  readonly outWidth: number;
}

const shapeOf = ({ model: { spec }, wire }: ReferenceEnd) => ({
  ...{ rows: rowsOf(spec), width: spec.model.width, wireWidth: wire.width },
});

const encoderOf = ({ model: { spec }, wire }: ReferenceEnd): Mlp => ({
  ...{ names: resbmEncoderNames(spec.index + 1), inWidth: spec.model.width, outWidth: wire.width },
});

const decoderOf = ({ model: { spec }, wire }: ReferenceEnd): Mlp => ({
  ...{ names: resbmDecoderNames(spec.index), inWidth: wire.width, outWidth: spec.model.width },
});

const sum = (a: Float64Array, b: Float64Array) => a.map((value, i) => value + b[i]!);

/** (N, outWidth) of x (N, inWidth), with what the backward needs. */
function mlp(end: ReferenceEnd, x: Float64Array, { names, inWidth, outWidth }: Mlp) {
  const rows = rowsOf(end.model.spec);
  const hidden = resbmHidden(end.wire.width);
  const [first, second] = [tensorOf(end.model, names[0]), tensorOf(end.model, names[1])];
  const firstShape = { rows, inputs: inWidth, outputs: hidden };
  const secondShape = { rows, inputs: hidden, outputs: outWidth };
  const lifted = linear({ x, matrix: first.value }, firstShape);
  const activated = silu(lifted);
  return {
    output: linear({ x: activated, matrix: second.value }, secondShape),
    /** dx (N, inWidth), of dy (N, outWidth). */
    backward(dy: Float64Array): Float64Array {
      const dActivated = linearBackward(
        { x: activated, matrix: second.value, dy, dMatrix: second.gradient },
        secondShape,
      );
      const dLifted = siluBackward({ x: lifted, dy: dActivated });
      return linearBackward({ x, matrix: first.value, dy: dLifted, dMatrix: first.gradient }, firstShape);
    },
  };
}

export const resbmReference: ReferenceCodec = {
  receiver: {
    expand(end, z) {
      const x = mlp(end, z, decoderOf(end)).output;
      addLeading({ wide: x, narrow: z }, shapeOf(end));
      return x;
    },
    rejoin: (_end, { x, y }) => sum(x, y),
    backward(end, { z, dx, da }) {
      const dh = sum(dx, da);
      return sum(mlp(end, z, decoderOf(end)).backward(dh), takeLeading(dh, shapeOf(end)));
    },
  },
  sender: {
    send(end, { a, f }) {
      const h = sum(a, f);
      return sum(mlp(end, h, encoderOf(end)).output, takeLeading(h, shapeOf(end)));
    },
    backward(end, { a, f, dz }) {
      const dh = mlp(end, sum(a, f), encoderOf(end)).backward(dz);
      addLeading({ wide: dh, narrow: dz }, shapeOf(end));
      return { df: dh, da: dh };
    },
  },
};
