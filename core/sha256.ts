/**
 * SHA-256 (FIPS 180-4) of short ASCII texts, as lower-case hexadecimal digits: machines compare commitments while
 * stepping, and core has no platform API.
 */

import { assert } from "./assert.ts";

const blockWords = 16;
const blockBytes = 4 * blockWords;
const lengthBytes = 8;
const rounds = 64;
/** The first 32 fractional bits of the cube roots of the first 64 primes. Signed words are faster. */
const roundConstants = Int32Array.from(firstPrimes(rounds), (prime) => fractionBits(Math.cbrt(prime)));
/** The same for the square roots of the first 8 primes. */
const start = Int32Array.from(firstPrimes(8), (prime) => fractionBits(Math.sqrt(prime)));

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}

function fractionBits(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
}

const state = new Int32Array(start.length);
const schedule = new Int32Array(rounds);

export function sha256(text: string): string {
  state.set(start);
  const { length } = text;
  const whole = Math.floor(length / blockBytes);
  let codes = 0; // the bits of all
  for (let block = 0; block < whole; block++) {
    codes |= readBlock(text, blockBytes * block);
    mixBlock();
  }
  codes |= readEnd(text, blockBytes * whole);
  assert(codes < 0x80, "hashed texts are ASCII");
  return hexOfState();
}

function readBlock(text: string, from: number): number {
  let codes = 0;
  for (let word = 0, at = from; word < blockWords; word++, at += 4) {
    const a = text.charCodeAt(at);
    const b = text.charCodeAt(at + 1);
    const c = text.charCodeAt(at + 2);
    const d = text.charCodeAt(at + 3);
    codes |= a | b | c | d;
    schedule[word] = a << 24 | b << 16 | c << 8 | d;
  }
  return codes;
}

/** The rest of the text, the ending bit and the length: one block, or two. */
function readEnd(text: string, from: number): number {
  const { length } = text;
  let codes = 0;
  schedule.fill(0, 0, blockWords);
  for (let at = from; at < length; at++) {
    const code = text.charCodeAt(at);
    codes |= code;
    schedule[at - from >> 2]! |= code << 24 - 8 * (at & 3);
  }
  schedule[length - from >> 2]! |= 0x80 << 24 - 8 * (length & 3);
  if (length - from >= blockBytes - lengthBytes) {
    mixBlock();
    schedule.fill(0, 0, blockWords);
  }
  schedule[14] = Math.floor(length / 2 ** 29);
  schedule[15] = length << 3;
  mixBlock();
  return codes;
}

function mixBlock(): void {
  const w = schedule;
  for (let t = blockWords; t < rounds; t++) {
    const x = w[t - 15]!;
    const y = w[t - 2]!;
    const small = (x >>> 7 | x << 25) ^ (x >>> 18 | x << 14) ^ (x >>> 3);
    const large = (y >>> 17 | y << 15) ^ (y >>> 19 | y << 13) ^ (y >>> 10);
    w[t] = (w[t - 16]! + small | 0) + (w[t - 7]! + large | 0) | 0;
  }
  let a = state[0]!, b = state[1]!, c = state[2]!, d = state[3]!;
  let e = state[4]!, f = state[5]!, g = state[6]!, h = state[7]!;
  for (let t = 0; t < rounds; t++) {
    const high = (e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7);
    const low = (a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10);
    const chosen = e & f ^ ~e & g;
    const first = (h + high | 0) + (chosen + (roundConstants[t]! + w[t]! | 0) | 0) | 0;
    const second = low + (a & b ^ a & c ^ b & c) | 0;
    h = g;
    g = f;
    f = e;
    e = d + first | 0;
    d = c;
    c = b;
    b = a;
    a = first + second | 0;
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
