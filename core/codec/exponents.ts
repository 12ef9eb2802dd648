/** float32 and bfloat16 both hold their exponent in the last two of a value's little-endian bytes. */

/** False if any value is NaN or infinite: its exponent is all ones. `stride`: bytes of a value. */
export function haveFiniteExponents(bytes: Uint8Array, stride: number): boolean {
  for (let last = stride - 1; last < bytes.length; last += stride) {
    if ((bytes[last]! & 0x7f) === 0x7f && (bytes[last - 1]! & 0x80) !== 0) return false;
  }
  return true;
}
