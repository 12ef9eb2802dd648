/**
 * Walks a MessagePack header without building it, so that the decoder sees only plain data of bounded depth.
 *
 * Rejects binary, extension types, integers beyond 2^53, keys that are not strings, name a prototype or repeat, invalid
 * UTF-8 and trailing bytes. Never allocates by a claimed length. A value costs up to a microsecond here and in the
 * decoder, so `maxValues` limits how long a header blocks the thread.
 */

export interface MsgpackLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
  readonly maxValues: number; // including keys
}

const forbiddenKeys: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Problem extends Error {}

export function headerProblem(bytes: Uint8Array, limits: Omit<MsgpackLimits, "maxBytes">): string | null {
  const walker = new Walker(bytes, limits);
  try {
    walker.value(0);
    walker.end();
    return null;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

class Walker {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #limits: Omit<MsgpackLimits, "maxBytes">;
  #offset = 0;
  #values = 1;

  constructor(bytes: Uint8Array, limits: Omit<MsgpackLimits, "maxBytes">) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#limits = limits;
  }

  end(): void {
    const left = this.#bytes.length - this.#offset;
    if (left > 0) throw new Problem(`${left} bytes follow the value`);
  }

  value(depth: number): void {
    const tag = this.#bytes[this.#take(1)]!;
    if (tag < 0x80 || tag >= 0xe0) return;
    if (tag < 0x90) return this.#map(tag & 0x0f, depth + 1);
    if (tag < 0xa0) return this.#array(tag & 0x0f, depth + 1);
    if (tag < 0xc0) return this.#skipString(tag & 0x1f);
    this.#tagged(tag, depth);
  }

  #tagged(tag: number, depth: number): void {
    switch (tag) {
      case 0xc0:
      case 0xc2:
      case 0xc3:
        return;
      case 0xca:
      case 0xcb:
        return void this.#take(tag === 0xca ? 4 : 8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xd0:
      case 0xd1:
      case 0xd2:
        return void this.#take(1 << ((tag - 0xcc) & 3));
      case 0xcf:
      case 0xd3:
        return this.#wideInteger(tag === 0xd3);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#skipString(this.#length(tag - 0xd9));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#length(tag - 0xdb), depth + 1);
      case 0xde:
      case 0xdf:
        return this.#map(this.#length(tag - 0xdd), depth + 1);
      default:
        throw new Problem(`type 0x${tag.toString(16)} is not allowed`);
    }
  }

  /** Returns where the skipped bytes began. */
  #take(bytes: number): number {
    const at = this.#offset;
    const missing = bytes - (this.#bytes.length - at);
    if (missing > 0) throw new Problem(`it ends ${missing} bytes too early`);
    this.#offset = at + bytes;
    return at;
  }

  /** A length field of 2^power bytes. */
  #length(power: number): number {
    const at = this.#take(1 << power);
    if (power === 0) return this.#view.getUint8(at);
    return power === 1 ? this.#view.getUint16(at) : this.#view.getUint32(at);
  }

  #wideInteger(signed: boolean): void {
    const at = this.#take(8);
    const value = signed ? this.#view.getBigInt64(at) : this.#view.getBigUint64(at);
    if (!Number.isSafeInteger(Number(value))) throw new Problem("an integer is beyond 2^53");
  }

  /** Most strings are ASCII, for which a loop is faster than a decoder. */
  #skipString(length: number): void {
    const at = this.#take(length);
    for (let index = at; index < at + length; index++) {
      if (this.#bytes[index]! >= 0x80) return void this.#decoded(at, length);
    }
  }

  #string(length: number): string {
    return this.#decoded(this.#take(length), length);
  }

  #decoded(at: number, length: number): string {
    try {
      return utf8.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw new Problem("a string is not UTF-8");
    }
  }

  #enter(entries: number, { bytesEach, depth }: { bytesEach: number; depth: number }): void {
    const { maxDepth, maxValues } = this.#limits;
    if (depth > maxDepth) throw new Problem(`it nests deeper than ${maxDepth}`);
    if (entries * bytesEach > this.#bytes.length - this.#offset) throw new Problem(`it claims ${entries} entries`);
    this.#values += entries * bytesEach; // an entry needs at least one byte for each value and key
    if (this.#values > maxValues) throw new Problem(`it holds more than ${maxValues} values`);
  }

  #array(length: number, depth: number): void {
    this.#enter(length, { bytesEach: 1, depth });
    for (let index = 0; index < length; index++) this.value(depth);
  }

  #map(length: number, depth: number): void {
    this.#enter(length, { bytesEach: 2, depth });
    const keys = new Set<string>();
    for (let index = 0; index < length; index++) {
      const key = this.#key();
      if (forbiddenKeys.has(key)) throw new Problem(`the key ${key} is not allowed`);
      if (keys.has(key)) throw new Problem(`the key ${key.slice(0, 40)} is repeated`);
      keys.add(key);
      this.value(depth);
    }
  }

  #key(): string {
    const tag = this.#bytes[this.#take(1)]!;
    if (tag >= 0xa0 && tag < 0xc0) return this.#string(tag & 0x1f);
    if (tag >= 0xd9 && tag <= 0xdb) return this.#string(this.#length(tag - 0xd9));
    throw new Problem("a key is not a string");
  }
}
