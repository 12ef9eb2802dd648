/**
 * A stage's vector as the bytes of a blob: parameters and outer momentum are little-endian float32, whatever the codec of
 * payloads.
 *
 * Owns the size of a stored float. Out of scope: the bytes of a payload (`core/update/payload`) and of a wire.
 */

const floatBytes = 4;

/** Bytes of a vector of this many values. */
export function vectorBytes(values: number): number {
  return floatBytes * values;
}

/**
 * The values share the bytes' memory if they are aligned, so that a large vector is in memory once. Throws a RangeError if the
 * bytes are not a whole number of values.
 */
export function floatsOf(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isAligned = byteOffset % floatBytes === 0 && byteLength % floatBytes === 0;
  return isAligned
    ? new Float32Array(buffer, byteOffset, byteLength / floatBytes)
    : new Float32Array(bytes.slice().buffer);
}

/** Shares the memory of the values. */
export function bytesOfFloats(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
