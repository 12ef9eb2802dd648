/**
 * Codecs `q4block`, `q5block` and `q6block`: the bottleneck of codec `iota`, whose values cross as codes of few bits and one scale
 * byte per token; gradients come back as codes of 8 bits with unbiased rounding.
 *
 * At equal bytes forward, more values of 4 or 5 bits lost less than fewer values in bfloat16 at `tiny` (tests/bench/LOG.md). The
 * ends are those of `iota`, and gradients pass the rounding as if there were none (straight through).
 */

import type { WireCodec } from "./codec.ts";
import { iotaCodec } from "./iota.ts";
import { type CodesSpec, scaledCodes } from "./scaled_codes.ts";

export const gradientCodes: CodesSpec = { bits: 8, grid: "stochastic" };
export const wireCodes = (bits: number): CodesSpec => ({ bits, grid: "nearest" });

const gradient = scaledCodes(gradientCodes);

export function qBlockCodec(bits: number): WireCodec {
  return {
    ...iotaCodec,
    formats: { forward: scaledCodes(wireCodes(bits)), gradient },
  };
}
