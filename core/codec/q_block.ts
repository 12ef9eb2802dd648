/**
 * Codecs `q4block`, `q5block` and `q6block`: the ends of `iota`. Values cross as codes of few bits with a scale byte
 * per token, gradients as codes of 4 to 8 bits with unbiased rounding. Forward rounding passes gradients unchanged
 * (straight-through).
 *
 * At equal bytes, more values of 4 or 5 bits lost less than fewer in bfloat16 at `tiny` (tests/lab/LOG.md).
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
