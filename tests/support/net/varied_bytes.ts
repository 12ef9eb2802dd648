/** Bytes that differ from leaf to leaf, the same for the same seed; quick enough for many megabytes. */
export function varied(bytes: number, seed: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return new Uint8Array(words.buffer, 0, bytes);
}
