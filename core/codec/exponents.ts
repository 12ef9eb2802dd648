/**
 * A check shared by float32 and bfloat16: a bfloat16 is the upper half of a float32, so both have their exponent in the
 * last two of a value's little-endian bytes.
 */

/**
 * False if any value is NaN or infinite: the exponent, 7 bits of the last byte and the top bit of the one before, is all ones.
 * `stride`: bytes of a value.
 */
export function haveFiniteExponents(bytes: Uint8Array, stride: number): boolean {
  for (let last = stride - 1; last < bytes.length; last += stride) {
    if ((bytes[last]! & 0x7f) === 0x7f && (bytes[last - 1]! & 0x80) !== 0) return false;
  }
  return true;
}
