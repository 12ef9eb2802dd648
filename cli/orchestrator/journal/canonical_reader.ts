/**
 * Reads canonical bytes (canonical_format.ts). Checksums vouch for them, so a failure means another format or a bug: a
 * `CanonicalError` with the position, never an endless loop or a huge allocation.
 */

import { Buffer } from "node:buffer";
import { canonicalVersion, deepest, tags } from "./canonical_format.ts";

export class CanonicalError extends Error {
  override name = "CanonicalError";
}

export function readCanonical(bytes: Uint8Array): unknown {
  return new Reader(bytes).read();
}

class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  #depth = 0;
  readonly #strings: string[] = [];
  readonly #shapes: (readonly string[])[] = [];
  readonly #identities: object[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  read(): unknown {
    const version = this.#byte();
    if (version !== canonicalVersion) throw this.#problem(`the version must be ${canonicalVersion}, but is ${version}`);
    const value = this.#item();
    if (this.#at !== this.#bytes.length) throw this.#problem("bytes follow the end of the value");
    return value;
  }

  #item(): unknown {
    const tag = this.#byte();
    if (tag >= tags.small) return tag - tags.small;
    switch (tag) {
      case tags.undefined:
        return undefined;
      case tags.null:
        return null;
      case tags.false:
        return false;
      case tags.true:
        return true;
      case tags.float:
        return this.#bytes.readDoubleLE(this.#take(8));
      case tags.integer:
        return this.#varint();
      case tags.negative:
        return -1 - this.#varint();
      case tags.latin1:
      case tags.utf16:
      case tags.earlierString:
        return this.#string(tag);
      case tags.bytes: {
        const length = this.#varint();
        const start = this.#take(length);
        return new Uint8Array(this.#bytes.subarray(start, start + length)); // a copy
      }
      case tags.earlierIdentity:
        return this.#earlier(this.#identities);
      default:
        return this.#nested(tag);
    }
  }

  #string(tag: number): string {
    if (tag === tags.earlierString) return this.#earlier(this.#strings);
    const length = this.#varint();
    const isWide = tag === tags.utf16;
    const bytes = isWide ? 2 * length : length;
    const start = this.#take(bytes);
    const text = this.#bytes.toString(isWide ? "utf16le" : "latin1", start, start + bytes);
    this.#strings.push(text);
    return text;
  }

  #nested(tag: number): unknown {
    this.#depth += 1;
    if (this.#depth > deepest) throw this.#problem(`nested deeper than ${deepest}`);
    const value = this.#collection(tag);
    this.#depth -= 1;
    return value;
  }

  #collection(tag: number): unknown {
    switch (tag) {
      case tags.array: {
        const array: unknown[] = [];
        for (let left = this.#count(); left > 0; left--) array.push(this.#item());
        return array;
      }
      case tags.map: {
        const map = new Map<unknown, unknown>();
        for (let left = this.#count(); left > 0; left--) {
          const key = this.#item();
          map.set(key, this.#item());
        }
        return map;
      }
      case tags.set: {
        const set = new Set<unknown>();
        for (let left = this.#count(); left > 0; left--) set.add(this.#item());
        return set;
      }
      case tags.identity: {
        const value: Record<string, unknown> = {};
        this.#identities.push(value); // before its content, which may name it
        return this.#record(this.#byte(), value);
      }
      default:
        return this.#record(tag, {});
    }
  }

  #record(tag: number, value: Record<string, unknown>): unknown {
    const keys = this.#shape(tag);
    for (let i = 0; i < keys.length; i++) value[keys[i]!] = this.#item();
    return value;
  }

  #shape(tag: number): readonly string[] {
    if (tag === tags.earlierShape) return this.#earlier(this.#shapes);
    if (tag !== tags.newShape) throw this.#problem(`unknown tag ${tag}`);
    const keys: string[] = [];
    for (let left = this.#count(); left > 0; left--) {
      const key = this.#string(this.#byte());
      if (key === "__proto__") throw this.#problem("a key is '__proto__'");
      keys.push(key);
    }
    this.#shapes.push(keys);
    return keys;
  }

  #earlier<T>(things: readonly T[]): T {
    const number = this.#varint();
    if (number >= things.length) throw this.#problem(`thing ${number} is referenced before it was defined`);
    return things[number]!;
  }

  /** Each item takes a byte at least. */
  #count(): number {
    const count = this.#varint();
    if (count > this.#bytes.length - this.#at) throw this.#problem(`too short for ${count} items`);
    return count;
  }

  #varint(): number {
    let value = 0;
    for (let scale = 1; scale <= 2 ** 49; scale *= 0x80) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    throw this.#problem("a number is 2^53 or more");
  }

  #byte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  #take(bytes: number): number {
    const start = this.#at;
    if (bytes > this.#bytes.length - start) throw this.#problem("the bytes end within an item");
    this.#at += bytes;
    return start;
  }

  #problem(rule: string): CanonicalError {
    return new CanonicalError(`Cannot read canonical bytes: ${rule} (at byte ${this.#at})`);
  }
}
