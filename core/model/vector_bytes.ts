/**
 * A stage's vector as the bytes of a blob: parameters and outer momentum are little-endian float32, whatever a payload is
 * coded as.
 *
 * Owns the size of a float at rest. Out of scope: the bytes of a payload (`core/merge/payload`) and of a wire.
 */

const floatBytes = 4;

/** Bytes of a vector of so many values. */
export function vectorBytes(values: number): number {
  return floatBytes * values;
}

/**
 * The values are the bytes' own memory where they can be, so that a large vector is in memory once. Throws a RangeError for
 * bytes that are no whole number of values.
 */
export function floatsOf(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isAligned = byteOffset % floatBytes === 0 && byteLength % floatBytes === 0;
  return isAligned
    ? new Float32Array(buffer, byteOffset, byteLength / floatBytes)
    : new Float32Array(bytes.slice().buffer);
}

/** The same memory. */
export function bytesOfFloats(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
