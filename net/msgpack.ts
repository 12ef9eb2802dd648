/**
 * The part of MessagePack that headers use: nil, booleans, numbers, strings, arrays, maps with string keys.
 *
 * Owns: both directions. Decoding never throws, never allocates by a claimed length and refuses what headers have no use
 * for: binary, every extension type (so no dates, sets, records or classes from a peer), keys that name a prototype, repeated
 * keys, bad UTF-8, more nesting than `maxDepth`, bytes left over. Written here because the libraries either decode exotic
 * types from a peer or overflow the stack on nested arrays; with the checks needed before them they would not save a line.
 */

import { assert, unreachable } from "../core/assert.ts";
import { type Parsed, parsed, refused } from "../core/fault.ts";

export interface MsgpackLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

const forbiddenKeys: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);
const utf8Encoder = new TextEncoder();
const utf8Decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Values are ours, so one that has no encoding is our bug. Properties that are `undefined` are left out, as in JSON. */
export function encodeMsgpack(value: unknown): Uint8Array {
  const writer = new Writer();
  writer.value(value);
  return writer.finish();
}

export function decodeMsgpack(bytes: Uint8Array, limits: MsgpackLimits): Parsed<unknown> {
  if (bytes.length > limits.maxBytes) {
    return refused(
      "limitExceeded",
      `Cannot read a header as 'headerBytes' must be at most ${limits.maxBytes}: current value is ${bytes.length}`,
    );
  }
  return new Reader(bytes, limits.maxDepth).finish();
}

class Writer {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  value(value: unknown): void {
    if (value === null || value === undefined) return this.#byte(0xc0);
    if (typeof value === "boolean") return this.#byte(value ? 0xc3 : 0xc2);
    if (typeof value === "number") return this.#number(value);
    if (typeof value === "string") return this.#string(value);
    if (Array.isArray(value)) return this.#array(value);
    assert(typeof value === "object", `Cannot encode a header as a ${typeof value} has no encoding`);
    const prototype = Object.getPrototypeOf(value);
    assert(prototype === Object.prototype || prototype === null, "Cannot encode a header as it must be plain data");
    this.#map(value as Record<string, unknown>);
  }

  #reserve(bytes: number): number {
    const at = this.#length;
    this.#length += bytes;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }

  #byte(value: number): void {
    const at = this.#reserve(1);
    this.#bytes[at] = value;
  }

  #tagged(tag: number, width: 1 | 2 | 4, value: number): void {
    const at = this.#reserve(1 + width);
    this.#bytes[at] = tag;
    if (width === 1) this.#view.setUint8(at + 1, value);
    else if (width === 2) this.#view.setUint16(at + 1, value);
    else if (width === 4) this.#view.setUint32(at + 1, value);
    else unreachable(width);
  }

  #number(value: number): void {
    if (Number.isInteger(value) && !Object.is(value, -0)) {
      if (value >= 0 && value <= 0xffff_ffff) return this.#unsigned(value);
      if (value < 0 && value >= -0x8000_0000) return this.#negative(value);
    }
    const at = this.#reserve(9);
    this.#bytes[at] = 0xcb;
    this.#view.setFloat64(at + 1, value);
  }

  #unsigned(value: number): void {
    if (value < 0x80) this.#byte(value);
    else if (value <= 0xff) this.#tagged(0xcc, 1, value);
    else if (value <= 0xffff) this.#tagged(0xcd, 2, value);
    else this.#tagged(0xce, 4, value);
  }

  #negative(value: number): void {
    if (value >= -32) this.#byte(value & 0xff);
    else if (value >= -0x80) this.#tagged(0xd0, 1, value & 0xff);
    else if (value >= -0x8000) this.#tagged(0xd1, 2, value & 0xffff);
    else this.#tagged(0xd2, 4, value >>> 0);
  }

  #string(value: string): void {
    const bytes = utf8Encoder.encode(value);
    if (bytes.length < 32) this.#byte(0xa0 | bytes.length);
    else if (bytes.length <= 0xff) this.#tagged(0xd9, 1, bytes.length);
    else if (bytes.length <= 0xffff) this.#tagged(0xda, 2, bytes.length);
    else this.#tagged(0xdb, 4, bytes.length);
    const at = this.#reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  #array(values: readonly unknown[]): void {
    if (values.length < 16) this.#byte(0x90 | values.length);
    else if (values.length <= 0xffff) this.#tagged(0xdc, 2, values.length);
    else this.#tagged(0xdd, 4, values.length);
    for (const value of values) this.value(value);
  }

  #map(values: Record<string, unknown>): void {
    const entries = Object.entries(values).filter(([, value]) => value !== undefined);
    if (entries.length < 16) this.#byte(0x80 | entries.length);
    else if (entries.length <= 0xffff) this.#tagged(0xde, 2, entries.length);
    else this.#tagged(0xdf, 4, entries.length);
    for (const [key, value] of entries) {
      this.#string(key);
      this.value(value);
    }
  }
}

/** After the first fault every read returns a harmless value and `finish` reports the fault. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #maxDepth: number;
  #offset = 0;
  #problem: string | null = null;

  constructor(bytes: Uint8Array, maxDepth: number) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#maxDepth = maxDepth;
  }

  finish(): Parsed<unknown> {
    const value = this.#value(0);
    if (this.#problem === null && this.#offset !== this.#bytes.length) {
      this.#fail(`${this.#bytes.length - this.#offset} bytes follow the value`);
    }
    return this.#problem === null ? parsed(value) : refused("malformedFrame", `Cannot read a header: ${this.#problem}`);
  }

  #fail(problem: string): null {
    this.#problem ??= problem;
    return null;
  }

  /** Where `bytes` bytes can be read, or -1. */
  #take(bytes: number): number {
    const at = this.#offset;
    if (this.#problem !== null || bytes > this.#bytes.length - at) {
      this.#fail(`it ends ${bytes - (this.#bytes.length - at)} bytes too early`);
      return -1;
    }
    this.#offset = at + bytes;
    return at;
  }

  #value(depth: number): unknown {
    const at = this.#take(1);
    if (at < 0) return null;
    const tag = this.#bytes[at]!;
    if (tag < 0x80) return tag;
    if (tag >= 0xe0) return tag - 0x100;
    if (tag < 0x90) return this.#map(tag & 0x0f, depth + 1);
    if (tag < 0xa0) return this.#array(tag & 0x0f, depth + 1);
    if (tag < 0xc0) return this.#string(tag & 0x1f);
    return this.#tagged(tag, depth);
  }

  #tagged(tag: number, depth: number): unknown {
    switch (tag) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
      case 0xcb:
        return this.#float(tag === 0xca ? 4 : 8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return this.#integer(tag - 0xcc, false);
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return this.#integer(tag - 0xd0, true);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#string(this.#length(tag - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#length(tag - 0xdb), depth + 1);
      case 0xde:
      case 0xdf:
        return this.#map(this.#length(tag - 0xdd), depth + 1);
      default:
        return this.#fail(`type 0x${tag.toString(16)} is not allowed`);
    }
  }

  #float(width: 4 | 8): number {
    const at = this.#take(width);
    if (at < 0) return 0;
    return width === 4 ? this.#view.getFloat32(at) : this.#view.getFloat64(at);
  }

  /** A length field of 2^power bytes. */
  #length(power: number): number {
    const length = this.#integer(power, false);
    return typeof length === "number" ? length : 0;
  }

  #integer(power: number, signed: boolean): number | null {
    const at = this.#take(1 << power);
    if (at < 0) return null;
    const view = this.#view;
    if (power === 0) return signed ? view.getInt8(at) : view.getUint8(at);
    if (power === 1) return signed ? view.getInt16(at) : view.getUint16(at);
    if (power === 2) return signed ? view.getInt32(at) : view.getUint32(at);
    const value = Number(signed ? view.getBigInt64(at) : view.getBigUint64(at));
    return Number.isSafeInteger(value) ? value : this.#fail("an integer is beyond 2^53");
  }

  #string(length: number): string {
    const at = this.#take(length);
    if (at < 0) return "";
    const short = length < 24 ? this.#ascii(at, length) : null;
    return short ?? this.#utf8(at, length);
  }

  /** TextDecoder costs more than short keys are worth. */
  #ascii(at: number, length: number): string | null {
    let text = "";
    for (let index = at; index < at + length; index++) {
      const byte = this.#bytes[index]!;
      if (byte >= 0x80) return null;
      text += String.fromCharCode(byte);
    }
    return text;
  }

  #utf8(at: number, length: number): string {
    try {
      return utf8Decoder.decode(this.#bytes.subarray(at, at + length));
    } catch {
      this.#fail("a string is not UTF-8");
      return "";
    }
  }

  #canHold(entries: number, bytesEach: number, depth: number): boolean {
    if (depth > this.#maxDepth) this.#fail(`it nests deeper than ${this.#maxDepth}`);
    else if (entries * bytesEach > this.#bytes.length - this.#offset) this.#fail(`it claims ${entries} entries`);
    return this.#problem === null;
  }

  #array(length: number, depth: number): unknown[] {
    const values: unknown[] = [];
    if (!this.#canHold(length, 1, depth)) return values;
    for (let index = 0; index < length && this.#problem === null; index++) values.push(this.#value(depth));
    return values;
  }

  #map(length: number, depth: number): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    if (!this.#canHold(length, 2, depth)) return values;
    for (let index = 0; index < length && this.#problem === null; index++) {
      const key = this.#value(depth);
      if (typeof key !== "string") this.#fail("a key is not a string");
      else if (forbiddenKeys.has(key)) this.#fail(`the key ${key} is not allowed`);
      else if (Object.hasOwn(values, key)) this.#fail(`the key ${key.slice(0, 40)} is repeated`);
      else values[key] = this.#value(depth);
    }
    return values;
  }
}
