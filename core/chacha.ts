/**
 * The ChaCha20 block function (RFC 8439, section 2.3): random sampling that members cannot foresee and a replay
 * repeats.
 * prng.ts draws from it.
 */

import { assert } from "./assert.ts";

export type SecretKey = readonly number[];
export const secretKeyBytes = 32;
export const blockWords = 16;

const constants = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const; // "expand 32-byte k"
const doubleRounds = 10;

export function secretKeyOf(bytes: Uint8Array): SecretKey {
  assert(
    bytes.length === secretKeyBytes,
    `A key must have ${secretKeyBytes} bytes, and has ${bytes.length}`,
  );
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: secretKeyBytes / 4 }, (_, i) => view.getUint32(4 * i, true));
}

/** Revealing the key of one index says nothing about the others. */
export function derivedKey(key: SecretKey, index: number): SecretKey {
  const block = new Uint32Array(blockWords);
  chacha20(key, { counter: 0, nonce: [1, index >>> 0, Math.floor(index / 2 ** 32) >>> 0] }, block);
  return [...block.subarray(0, secretKeyBytes / 4)];
}

export function hexOfKey(key: SecretKey): string {
  const byte = (word: number, i: number) => ((word >>> (8 * i)) & 0xff).toString(16).padStart(2, "0");
  return key.map((word) => [0, 1, 2, 3].map((i) => byte(word, i)).join("")).join("");
}

interface ChachaPosition {
  readonly counter: number;
  readonly nonce: readonly [number, number, number];
}

/** Writes 16 words to `out`. */
export function chacha20(key: SecretKey, { counter, nonce }: ChachaPosition, out: Uint32Array): void {
  const start = Uint32Array.of(...constants, ...key, counter, ...nonce);
  const x = start.slice();
  for (let i = 0; i < doubleRounds; i++) {
    quarterRound(x, 0, 4, 8, 12);
    quarterRound(x, 1, 5, 9, 13);
    quarterRound(x, 2, 6, 10, 14);
    quarterRound(x, 3, 7, 11, 15);
    quarterRound(x, 0, 5, 10, 15);
    quarterRound(x, 1, 6, 11, 12);
    quarterRound(x, 2, 7, 8, 13);
    quarterRound(x, 3, 4, 9, 14);
  }
  for (let i = 0; i < blockWords; i++) out[i] = x[i]! + start[i]!;
}

function quarterRound(x: Uint32Array, a: number, b: number, c: number, d: number): void {
  x[a]! += x[b]!;
  x[d] = rotate(x[d]! ^ x[a]!, 16);
  x[c]! += x[d]!;
  x[b] = rotate(x[b]! ^ x[c]!, 12);
  x[a]! += x[b]!;
  x[d] = rotate(x[d]! ^ x[a]!, 8);
  x[c]! += x[d]!;
  x[b] = rotate(x[b]! ^ x[c]!, 7);
}

const rotate = (word: number, by: number): number => (word << by) | (word >>> (32 - by));
