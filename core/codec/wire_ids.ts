/**
 * Token ids after a wire's values, for later stages' side embeddings (core/model/side.ts): one per row in 2 or 3
 * little-endian bytes, padded with zeros to whole words. Every stage passes on its ids.
 */

const wordBytes = 4;

const bytesOfId = (vocabSize: number): number => vocabSize <= 2 ** 16 ? 2 : 3;

export interface WireIds {
  readonly vocabSize: number;
  readonly rows: number;
}

export function idBytes({ vocabSize, rows }: WireIds): number {
  return Math.ceil(rows * bytesOfId(vocabSize) / wordBytes) * wordBytes;
}

export function writeIds(bytes: Uint8Array, ids: Uint32Array, { vocabSize }: WireIds): void {
  const size = bytesOfId(vocabSize);
  for (let row = 0, at = 0; row < ids.length; row++) {
    for (let i = 0; i < size; i++) bytes[at++] = ids[row]! >>> (8 * i);
  }
}

export function readIds(bytes: Uint8Array, { vocabSize, rows }: WireIds): Uint32Array<ArrayBuffer> {
  const size = bytesOfId(vocabSize);
  const ids = new Uint32Array(rows);
  for (let row = 0, at = 0; row < rows; row++) {
    for (let i = 0; i < size; i++) ids[row]! |= bytes[at++]! << (8 * i);
  }
  return ids;
}

/** Requires zero padding, so that equal ids have equal bytes. */
export function areIds(bytes: Uint8Array, { vocabSize, rows }: WireIds): boolean {
  const used = rows * bytesOfId(vocabSize);
  for (let i = used; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  for (const id of readIds(bytes, { vocabSize, rows })) if (id >= vocabSize) return false;
  return true;
}
