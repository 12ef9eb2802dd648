/**
 * The scale of a row of codes: one byte for a power of 2 in quarter octaves, the least not below the row's largest
 * magnitude. Computed on bit patterns, as in gpu/webgpu/wgsl/codes_scales.wgsl.
 *
 *     byte       1 to 254: 2^((byte - 161) / 4), so 2^-40 to 2^23.25; larger rows are clipped
 *     zeroScale  no value of the row reaches 2^-40.25
 *     notFinite  the row holds NaN or infinity; no node accepts it
 */

export const zeroScale = 0;
export const notFinite = 255;

const least = 1, most = 254;
const one = 161; // stands for 1
const exponentBias = 127;
const mantissaBits = 23;
const mantissaMask = 2 ** mantissaBits - 1;
const infinityPattern = 0x7f800000;

/** Mantissas of 2^(1/4), 2^(2/4) and 2^(3/4) as float32. */
const quarters = [0x1837f0, 0x3504f3, 0x5744fd] as const;

const words = new Uint32Array(1);
const floats = new Float32Array(words.buffer);

/** `pattern`: of the row's largest magnitude, without its sign. */
export function scaleByte(pattern: number): number {
  if (pattern >= infinityPattern) return notFinite;
  const mantissa = pattern & mantissaMask;
  const [first, second, third] = quarters;
  const quarter = mantissa === 0 ? 0 : mantissa <= first ? 1 : mantissa <= second ? 2 : mantissa <= third ? 3 : 4;
  const byte = 4 * ((pattern >>> mantissaBits) - exponentBias) + quarter + one;
  return byte < least ? zeroScale : Math.min(byte, most);
}

/** 0 for `zeroScale`, infinite for `notFinite`. */
export function scaleOf(byte: number): number {
  return scales[byte]!;
}

const scales = Float64Array.from({ length: 256 }, (_, byte) => {
  if (byte === zeroScale) return 0;
  if (byte === notFinite) return Infinity;
  const quarter = (byte - one) & 3;
  words[0] = (((byte - one - quarter) / 4 + exponentBias) << mantissaBits) |
    (quarter === 0 ? 0 : quarters[quarter - 1]!);
  return floats[0]!;
});
