/** Codec `none` in float64: the wire is the residual stream. A block inside a stage computes the same. */

import type { ReferenceCodec } from "./codec.ts";

function sum(a: Float64Array, b: Float64Array): Float64Array {
  return a.map((value, i) => value + b[i]!);
}

export const noneReference: ReferenceCodec = {
  receiver: {
    expand: (_end, z) => z,
    rejoin: (_end, { x, y }) => sum(x, y),
    backward: (_end, { dx, da }) => sum(dx, da),
  },
  sender: {
    send: (_end, { a, f }) => sum(a, f),
    backward: (_end, { dz }) => ({ df: dz, da: dz }),
  },
};
