/** The gradient on a wire as bytes, with the random rounding that devices do. */

import { formatOf, type Wire } from "../../../core/codec/wire.ts";
import { roundingKey } from "../../../core/codec/rounding_key.ts";

/** `values` (rows, width): the gradient of the wire whose bytes were the stage's `input`. */
export const encodeGradient = (wire: Wire, values: Float32Array, input: Uint8Array): Uint8Array =>
  formatOf(wire).encode(values, wire, roundingKey(input));
