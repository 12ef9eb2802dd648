/**
 * SHA-256 (FIPS 180-4) of short ASCII texts, as lower-case hexadecimal digits: for what members commit to.
 *
 * Here because a machine compares commitments while it steps, and core has no platform API. Blobs are hashed by net/blobs, whose
 * hashes use the platform. Invariant: texts are ASCII, as canonical JSON of numbers, names and hexadecimal digits is.
 */

import { assert } from "./assert.ts";

const blockWords = 16;
const lengthBytes = 8;
const roundConstants = Uint32Array.from(
  // The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
  firstPrimes(64),
  (prime) => fractionBits(Math.cbrt(prime)),
);
/** Of the square roots of the first 8 primes. */
const start = Uint32Array.from(firstPrimes(8), (prime) => fractionBits(Math.sqrt(prime)));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

function fractionBits(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

const state = new Int32Array(start.length);
const schedule = new Int32Array(64);

export function sha256(text: string): string {
  state.set(start);
  const { length } = text;
  const blocks = Math.ceil((length + 1 + lengthBytes) / (4 * blockWords));
  for (let block = 0; block < blocks; block++) {
    readBlock(text, 4 * blockWords * block);
    if (block === blocks - 1) {
      schedule[14] = Math.floor(length / 2 ** 29);
      schedule[15] = length << 3;
    }
    mixBlock();
  }
  return hexOfState();
}

/** The block's sixteen words, padded with the bit that ends the text. */
function readBlock(text: string, from: number): void {
  const { length } = text;
  for (let word = 0, at = from; word < blockWords; word++) {
    let value = 0;
    for (let i = 0; i < 4; i++, at++) {
      const code = at < length ? text.charCodeAt(at) : at === length ? 0x80 : 0;
      assert(code < 0x80 || at === length, "Cannot hash a text here as it must be ASCII");
      value = value << 8 | code;
    }
    schedule[word] = value;
  }
}

function mixBlock(): void {
  const w = schedule;
  for (let t = blockWords; t < 64; t++) {
    const [x, y] = [w[t - 15]!, w[t - 2]!];
    const small = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ (x >>> 3);
    const large = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ (y >>> 10);
    w[t] = w[t - 16]! + small + w[t - 7]! + large;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let t = 0; t < 64; t++) {
    const high = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const low = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const first = (h + high + (e & f ^ ~e & g) + roundConstants[t]! + w[t]!) | 0;
    const second = (low + (a & b ^ a & c ^ b & c)) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

const hexBytes = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hexOfState(): string {
  let hex = "";
  for (const word of state) {
    hex += hexBytes[word >>> 24]! + hexBytes[word >>> 16 & 255]! + hexBytes[word >>> 8 & 255]! + hexBytes[word & 255]!;
  }
  return hex;
}
