/** SCALE bytes. A reader throws `ScaleError`; its input is untrusted. */

import { assert } from "../../../core/assert.ts";

export class ScaleError extends Error {
  override readonly name = "ScaleError";
}

export class ScaleWriter {
  #bytes = new Uint8Array(256);
  #length = 0;

  bytes(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** Little-endian two's complement. */
  integer(value: bigint, bytes: number): void {
    this.#reserve(bytes);
    let rest = BigInt.asUintN(bytes * 8, value);
    for (let i = 0; i < bytes; i++) {
      this.#bytes[this.#length++] = Number(rest & 255n);
      rest >>= 8n;
    }
  }

  u32(value: number): void {
    this.integer(BigInt(value), 4);
  }

  /** 1, 2 or 4 bytes with the mode in the low bits, or a length byte and the little-endian value. */
  compact(value: number | bigint): void {
    const big = BigInt(value);
    assert(big >= 0n, `Cannot write a compact integer as it must not be negative: current value is ${big}`);
    if (big < 1n << 6n) return this.u8(Number(big) << 2);
    if (big < 1n << 14n) return this.integer(big << 2n | 1n, 2);
    if (big < 1n << 30n) return this.integer(big << 2n | 2n, 4);
    const bytes = Math.ceil(big.toString(16).length / 2);
    this.u8((bytes - 4) << 2 | 3);
    this.integer(big, bytes);
  }

  blob(bytes: Uint8Array): void {
    this.compact(bytes.length);
    this.raw(bytes);
  }

  text(text: string): void {
    this.blob(new TextEncoder().encode(text));
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

export class ScaleReader {
  #at = 0;

  constructor(readonly input: Uint8Array) {}

  get position(): number {
    return this.#at;
  }

  get remaining(): number {
    return this.input.length - this.#at;
  }

  raw(bytes: number): Uint8Array {
    if (bytes > this.remaining) {
      throw new ScaleError(`the bytes must not end before the value: ${bytes} needed, ${this.remaining} left`);
    }
    const start = this.#at;
    this.#at += bytes;
    return this.input.slice(start, this.#at);
  }

  u8(): number {
    return this.raw(1)[0]!;
  }

  integer(bytes: number, isSigned = false): bigint {
    let value = 0n;
    for (const byte of this.raw(bytes).reverse()) value = value << 8n | BigInt(byte);
    return isSigned ? BigInt.asIntN(bytes * 8, value) : value;
  }

  /** Longer forms are rejected, as in the runtime. */
  compact(): bigint {
    const first = this.u8();
    const mode = first & 3;
    if (mode === 0) return BigInt(first >> 2);
    if (mode === 1) return atLeast(1n << 6n, (BigInt(first) | this.integer(1) << 8n) >> 2n);
    if (mode === 2) return atLeast(1n << 14n, (BigInt(first) | this.integer(3) << 8n) >> 2n);
    const bytes = (first >> 2) + 4;
    return atLeast(bytes === 4 ? 1n << 30n : 1n << BigInt((bytes - 1) * 8), this.integer(bytes));
  }

  /** Each item takes at least one byte. */
  count(): number {
    const count = this.compact();
    if (count > BigInt(this.remaining)) {
      throw new ScaleError(`a list must not be longer than its bytes: ${count} items, ${this.remaining} bytes left`);
    }
    return Number(count);
  }

  blob(): Uint8Array {
    return this.raw(this.count());
  }

  end(): void {
    if (this.remaining > 0) throw new ScaleError(`nothing must follow the value: ${this.remaining} bytes are left`);
  }
}

function atLeast(minimum: bigint, value: bigint): bigint {
  if (value < minimum) throw new ScaleError(`a compact integer must use its shortest form: current value is ${value}`);
  return value;
}
