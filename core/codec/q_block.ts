/**
 * Codecs `q4block`, `q5block` and `q6block`: the bottleneck of codec `iota`, whose values cross as codes of few bits
 * and one scale byte per token; gradients return as codes of 4 to 8 bits with unbiased rounding.
 *
 * At equal bytes forward, more values of 4 or 5 bits lost less than fewer values in bfloat16 at `tiny`
 * (tests/lab/LOG.md). The ends are those of `iota`, and gradients pass the rounding unchanged (straight-through).
 */

import type { WireCodec, WireFormat } from "./codec.ts";
import { defaultGradientBits, type GradientBits } from "./codec_names.ts";
import { iotaCodec } from "./iota.ts";
import { type CodesSpec, scaledCodes } from "./scaled_codes.ts";

export const gradientCodes = (bits: number = defaultGradientBits): CodesSpec => ({ bits, grid: "stochastic" });
export const wireCodes = (bits: number): CodesSpec => ({ bits, grid: "nearest" });

const gradientFormats: Readonly<Record<GradientBits, WireFormat>> = {
  4: scaledCodes(gradientCodes(4)),
  5: scaledCodes(gradientCodes(5)),
  6: scaledCodes(gradientCodes(6)),
  7: scaledCodes(gradientCodes(7)),
  8: scaledCodes(gradientCodes(8)),
};

export function qBlockCodec(bits: number): WireCodec {
  return {
    ...iotaCodec,
    formats: { forward: scaledCodes(wireCodes(bits)), gradient: gradientFormats[defaultGradientBits] },
    gradientFormats,
  };
}
