/** The parts of SCALE (Substrate's codec) that weights need without metadata. */

import { assert } from "../core/assert.ts";

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

export function scaleU16(value: number): Uint8Array {
  assert(
    Number.isInteger(value) && value >= 0 && value <= 0xffff,
    `Cannot encode a u16 as it must be an integer in [0, 65535]: current value is ${value}`,
  );
  return Uint8Array.of(value & 0xff, value >> 8);
}

export function scaleU64(value: bigint): Uint8Array {
  assert(
    value >= 0n && value < 1n << 64n,
    `Cannot encode a u64 as it must be in [0, 2^64): current value is ${value}`,
  );
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, value, true);
  return bytes;
}

/** The two lowest bits give the width. Lengths stay below 2^30. */
export function scaleLength(length: number): Uint8Array {
  assert(
    Number.isInteger(length) && length >= 0 && length < 2 ** 30,
    `Cannot encode a length as it must be in [0, 2^30): current value is ${length}`,
  );
  if (length < 2 ** 6) return Uint8Array.of(length << 2);
  if (length < 2 ** 14) return scaleU16((length << 2) | 1);
  const word = length * 4 + 2; // a shift is negative above 2^31
  return Uint8Array.of(word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, (word >>> 24) & 0xff);
}

export const scaleBytes = (bytes: Uint8Array): Uint8Array => concatBytes(scaleLength(bytes.length), bytes);

export const scaleU16s = (values: readonly number[]): Uint8Array =>
  concatBytes(scaleLength(values.length), ...values.map(scaleU16));

/** After an error every method returns null. */
export class ScaleReader {
  #offset = 0;
  #isBroken = false;

  constructor(readonly bytes: Uint8Array) {}

  get remainingBytes(): number {
    return this.#isBroken ? 0 : this.bytes.length - this.#offset;
  }

  take(count: number): Uint8Array | null {
    if (this.#isBroken || count > this.remainingBytes) {
      this.#isBroken = true;
      return null;
    }
    this.#offset += count;
    return this.bytes.subarray(this.#offset - count, this.#offset);
  }

  u16(): number | null {
    const bytes = this.take(2);
    return bytes === null ? null : bytes[0]! | (bytes[1]! << 8);
  }

  u64(): bigint | null {
    const bytes = this.take(8);
    return bytes === null ? null : new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  }

  length(): number | null {
    const first = this.take(1)?.[0];
    if (first === undefined) return null;
    const mode = first & 3;
    const rest = this.take(mode === 0 ? 0 : mode === 1 ? 1 : mode === 2 ? 3 : this.remainingBytes + 1);
    if (rest === null) return null;
    return rest.reduceRight((sum, byte) => sum * 256 + byte, 0) * 64 + (first >> 2);
  }

  vector(): Uint8Array | null {
    const length = this.length();
    return length === null ? null : this.take(length);
  }

  u16s(): number[] | null {
    const length = this.length();
    const bytes = length === null ? null : this.take(length * 2);
    if (bytes === null) return null;
    return Array.from({ length: bytes.length / 2 }, (_, i) => bytes[2 * i]! | (bytes[2 * i + 1]! << 8));
  }
}
