/**
 * Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a
 * block of four words is a pure function of (counter, key). Draws are integers, the same everywhere.
 *
 * Not for secrets, since a key has 64 bits: a stream with a key of eight words draws from ChaCha20 (chacha.ts).
 */

import { assert } from "./assert.ts";
import { blockWords, chacha20, type SecretKey } from "./chacha.ts";

/** Four 32-bit words. */
export type Counter = readonly [number, number, number, number];
/** Two 32-bit words. */
export type Key = readonly [number, number];

const rounds = 10;
const multiplier0 = 0xd2511f53;
const multiplier1 = 0xcd9e8d57;
const weyl0 = 0x9e3779b9; // golden ratio
const weyl1 = 0xbb67ae85; // sqrt(3) - 1
const wordsPerBlock = 4;

/** From four 16-bit products. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff, aHigh = a >>> 16;
  const bLow = b & 0xffff, bHigh = b >>> 16;
  const lowHigh = Math.imul(aLow, bHigh);
  const highLow = Math.imul(aHigh, bLow);
  const middle = (Math.imul(aLow, bLow) >>> 16) + (lowHigh & 0xffff) + (highLow & 0xffff);
  return (Math.imul(aHigh, bHigh) + (lowHigh >>> 16) + (highLow >>> 16) + (middle >>> 16)) | 0;
}

/** Writes four words to `out[0..3]`. */
export function philox(counter: Counter, key: Key, out: Uint32Array): void {
  let c0 = counter[0] | 0, c1 = counter[1] | 0, c2 = counter[2] | 0, c3 = counter[3] | 0;
  let k0 = key[0] | 0, k1 = key[1] | 0;
  for (let round = 0; round < rounds; round++) {
    const high0 = multiplyHigh(multiplier0, c0), low0 = Math.imul(multiplier0, c0);
    const high1 = multiplyHigh(multiplier1, c2), low1 = Math.imul(multiplier1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + weyl0) | 0;
    k1 = (k1 + weyl1) | 0;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

/**
 * `keyOf(seed, "wiring", round)`. Labels carry kind and length, so ("ab", "c") and ("a", "bc"), or 1 and "1", differ.
 */
export function keyOf(seed: number, ...labels: readonly (string | number)[]): Key {
  const words: number[] = [];
  for (const label of labels) absorb(words, label);
  const block = new Uint32Array(wordsPerBlock);
  let key: Key = [seed >>> 0, words.length];
  for (let i = 0; i < Math.max(words.length, 1); i += wordsPerBlock) {
    philox([words[i] ?? 0, words[i + 1] ?? 0, words[i + 2] ?? 0, words[i + 3] ?? 0], key, block);
    key = [block[0]!, block[1]!];
  }
  return key;
}

function absorb(words: number[], label: string | number): void {
  if (typeof label === "string") {
    words.push(1, label.length);
    for (let i = 0; i < label.length; i++) words.push(label.charCodeAt(i));
    return;
  }
  assert(
    Number.isSafeInteger(label),
    `A number label must be a safe integer, and is ${label}`,
  );
  words.push(2, label >>> 0, Math.floor(label / 2 ** 32) >>> 0);
}

/** Plain JSON, for machine state. */
export interface Stream {
  readonly key: Key | SecretKey;
  counter: number; // words drawn so far
}

export function openStream(key: Key | SecretKey): Stream {
  return { key, counter: 0 };
}

const scratch = new Uint32Array(blockWords);

const isShort = (key: Key | SecretKey): key is Key => key.length === 2;

export function nextUint32(stream: Stream): number {
  const { key, counter } = stream;
  stream.counter += 1;
  const words = isShort(key) ? wordsPerBlock : blockWords;
  const block = Math.floor(counter / words);
  const high = Math.floor(block / 2 ** 32);
  if (isShort(key)) philox([block >>> 0, high, 0, 0], key, scratch);
  else chacha20(key, { counter: block >>> 0, nonce: [0, high, 0] }, scratch);
  return scratch[counter % words]!;
}

/** In [0, n), each equally likely: draws above `n`'s largest multiple are thrown away. */
export function nextBelow(stream: Stream, n: number): number {
  assert(
    Number.isInteger(n) && n >= 1 && n <= 2 ** 32,
    `'n' must be in [1, 2^32], and is ${n}`,
  );
  const limit = 2 ** 32 - (2 ** 32 % n);
  let word = nextUint32(stream);
  while (word >= limit) word = nextUint32(stream);
  return word % n;
}

const fineness = 2 ** 24; // of the number that decides

export function isDrawn(stream: Stream, probability: number): boolean {
  return nextBelow(stream, fineness) < probability * fineness;
}

/** In place (Fisher-Yates). */
export function shuffle<T>(stream: Stream, array: T[]): T[] {
  for (let last = array.length - 1; last > 0; last--) {
    const other = nextBelow(stream, last + 1);
    const held = array[last]!;
    array[last] = array[other]!;
    array[other] = held;
  }
  return array;
}
