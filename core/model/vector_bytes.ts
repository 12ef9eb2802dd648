/** A stage's vector as the bytes of a blob: little-endian float32, whatever the codec of payloads. */

const floatBytes = 4;

export function vectorBytes(values: number): number {
  return floatBytes * values;
}

/** Shares the bytes' memory if they are aligned. Throws a RangeError for a fraction of a value. */
export function floatsOf(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes;
  const isAligned = byteOffset % floatBytes === 0 && byteLength % floatBytes === 0;
  return isAligned
    ? new Float32Array(buffer, byteOffset, byteLength / floatBytes)
    : new Float32Array(bytes.slice().buffer);
}

/** Shares the values' memory. */
export function bytesOfFloats(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
