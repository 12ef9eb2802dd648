/**
 * Names for tensors that are never computed: a 64-bit digest of a tensor's inputs stands for its SHA-256.
 *
 * Owns the mixing (two 32-bit lanes of multiply and xor, no cryptography: nobody attacks a simulation from inside it). Equal parts
 * give equal digests; ("ab", "c") and ("a", "bc") differ.
 */

import { type BlobHash, blobHash } from "../../../core/ids.ts";

const letters = Uint8Array.from(
  "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~",
  (letter) => letter.charCodeAt(0),
);
const double = new Float64Array(1);
const wordsOfDouble = new Uint32Array(double.buffer);

class Hasher {
  #high = 0;
  #low = 0;

  reset(): this {
    this.#high = 0x2545f491;
    this.#low = 0x9e3779b9 | 0;
    return this;
  }

  word(word: number): void {
    this.#high = Math.imul(this.#high ^ word, 0x9e3779b1);
    this.#low = Math.imul(this.#low ^ word ^ (this.#high >>> 15), 0x5f356495);
  }

  text(text: string): void {
    this.word(text.length);
    for (let i = 0; i < text.length; i++) this.word(text.charCodeAt(i));
  }

  number(value: number): void {
    double[0] = value;
    this.word(wordsOfDouble[0]!);
    this.word(wordsOfDouble[1]!);
  }

  finish(): string {
    let high = this.#high ^ (this.#low >>> 13);
    let low = this.#low ^ (this.#high >>> 16);
    high = Math.imul(high ^ (high >>> 16), 0x85ebca6b);
    low = Math.imul(low ^ (low >>> 13) ^ high, 0xc2b2ae35);
    high = Math.imul(high ^ (low >>> 15), 0x27d4eb2f);
    return lettersOf(high, low);
  }
}

/** Six bits a letter. In one call, because a text joined of parts is flattened again when it becomes the key of a map. */
function lettersOf(high: number, low: number): string {
  return String.fromCharCode(
    letters[high >>> 26]!,
    letters[(high >>> 20) & 63]!,
    letters[(high >>> 14) & 63]!,
    letters[(high >>> 8) & 63]!,
    letters[(high >>> 2) & 63]!,
    letters[((high & 3) << 4) | (low >>> 28)]!,
    letters[(low >>> 22) & 63]!,
    letters[(low >>> 16) & 63]!,
    letters[(low >>> 10) & 63]!,
    letters[(low >>> 4) & 63]!,
    letters[(low & 15) << 2]!,
  );
}

const shared = new Hasher();

export function digest(kind: string, ...parts: readonly (string | number)[]): BlobHash {
  shared.reset();
  shared.text(kind);
  for (const part of parts) {
    if (typeof part === "string") shared.text(part);
    else shared.number(part);
  }
  return blobHash(shared.finish());
}

/** In [0, 1), a function of the digest alone. */
export function unitOf(hash: string): number {
  const high = positionOf(hash, 0) << 18 | positionOf(hash, 1) << 12 | positionOf(hash, 2) << 6 | positionOf(hash, 3);
  return high / 2 ** 24;
}

function positionOf(hash: string, place: number): number {
  return letters.indexOf(hash.charCodeAt(place));
}
