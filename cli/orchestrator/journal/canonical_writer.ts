/** Writes canonical bytes (canonical_format.ts). State kept between values only saves time. Not reentrant. */

import { assert } from "../../../core/assert.ts";
import { canonicalVersion, deepest, type HasIdentity, noIdentity, tags } from "./canonical_format.ts";

interface Layout {
  readonly keys: readonly string[];
  readonly hasIdentity: boolean;
  values: number; // value count at its last occurrence
  number: number; // in that value
}

/** In an order that some objects have. */
interface Shape {
  readonly given: readonly string[];
  readonly layout: Layout;
}

const firstBytes = 2 ** 12;
const keptBytes = 2 ** 20; // a larger buffer is dropped after its value
const mostShapes = 4096; // strangers must not fill the memory

export class CanonicalWriter {
  readonly #hasIdentity: HasIdentity;
  readonly #shapes = new Map<number, Shape[]>(); // by number of keys
  readonly #layouts = new Map<string, Layout>();
  #shapeCount = 0;
  #bytes = new Uint8Array(firstBytes);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  #depth = 0;
  #values = 0;
  #layoutsInValue = 0;
  readonly #strings = new Map<string, number>();
  readonly #identities = new Map<object, number>();

  constructor(hasIdentity: HasIdentity = noIdentity) {
    this.#hasIdentity = hasIdentity;
  }

  write(value: unknown): Uint8Array<ArrayBuffer> {
    this.#at = 0;
    this.#depth = 0;
    try {
      this.#byte(canonicalVersion);
      this.#item(value);
      return this.#bytes.slice(0, this.#at);
    } finally {
      this.#forget();
    }
  }

  #forget(): void {
    this.#strings.clear();
    this.#identities.clear();
    this.#values += 1;
    this.#layoutsInValue = 0;
    if (this.#bytes.length > keptBytes) this.#resize(firstBytes);
    if (this.#shapeCount <= mostShapes) return;
    this.#shapes.clear();
    this.#layouts.clear();
    this.#shapeCount = 0;
  }

  #item(value: unknown): void {
    switch (typeof value) {
      case "number":
        return this.#number(value);
      case "string":
        return this.#string(value);
      case "boolean":
        return this.#byte(value ? tags.true : tags.false);
      case "undefined":
        return this.#byte(tags.undefined);
      case "object":
        if (value === null) return this.#byte(tags.null);
        return this.#object(value);
      default:
        throw new TypeError(`Only plain data can be written, not a ${typeof value}`);
    }
  }

  #number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) return this.#float(value);
    if (value < 0) return this.#counted(tags.negative, -1 - value);
    if (value < tags.small) this.#byte(tags.small | value);
    else this.#counted(tags.integer, value);
  }

  #float(value: number): void {
    this.#room(9);
    this.#bytes[this.#at] = tags.float;
    this.#view.setFloat64(this.#at + 1, Number.isNaN(value) ? NaN : value, true);
    if (Number.isNaN(value)) this.#view.setUint32(this.#at + 5, 0x7ff80000, true); // engines differ in NaN's bits
    if (Number.isNaN(value)) this.#view.setUint32(this.#at + 1, 0, true);
    this.#at += 9;
  }

  #string(text: string): void {
    const number = this.#strings.get(text);
    if (number !== undefined) return this.#counted(tags.earlierString, number);
    this.#strings.set(text, this.#strings.size);
    const { length } = text;
    this.#counted(tags.latin1, length);
    this.#room(2 * length);
    const start = this.#at;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 0xff) return this.#wide(text, start);
      this.#bytes[this.#at++] = code;
    }
  }

  /** `text` was written at `start`, one byte a character. */
  #wide(text: string, start: number): void {
    let tagAt = start - 1;
    while (tagAt > 0 && this.#bytes[tagAt - 1]! >= 0x80) tagAt -= 1; // the bytes of the count; the tag is below 0x80
    this.#bytes[tagAt - 1] = tags.utf16;
    this.#at = start;
    for (let i = 0; i < text.length; i++, this.#at += 2) this.#view.setUint16(this.#at, text.charCodeAt(i), true);
  }

  #object(value: object): void {
    this.#depth += 1;
    assert(this.#depth <= deepest, `Cannot write a value nested deeper than ${deepest}`);
    if (Array.isArray(value)) {
      this.#counted(tags.array, value.length);
      for (let i = 0; i < value.length; i++) this.#item(value[i]);
    } else if (value instanceof Map) {
      this.#counted(tags.map, value.size);
      for (const [key, each] of value) {
        this.#item(key);
        this.#item(each);
      }
    } else if (value instanceof Set) {
      this.#counted(tags.set, value.size);
      for (const each of value) this.#item(each);
    } else if (value instanceof Uint8Array) this.#raw(value);
    else this.#record(value as Readonly<Record<string, unknown>>);
    this.#depth -= 1;
  }

  #raw(value: Uint8Array): void {
    this.#counted(tags.bytes, value.length);
    this.#room(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  #record(value: Readonly<Record<string, unknown>>): void {
    const layout = this.#layoutOf(value);
    if (layout.hasIdentity) {
      const number = this.#identities.get(value);
      if (number !== undefined) return this.#counted(tags.earlierIdentity, number);
      this.#identities.set(value, this.#identities.size);
      this.#byte(tags.identity);
    }
    const { keys } = layout;
    if (layout.values === this.#values) this.#counted(tags.earlierShape, layout.number);
    else {
      layout.values = this.#values;
      layout.number = this.#layoutsInValue++;
      this.#counted(tags.newShape, keys.length);
      for (const key of keys) this.#string(key);
    }
    for (let i = 0; i < keys.length; i++) this.#item(value[keys[i]!]);
  }

  #layoutOf(value: object): Layout {
    const keys = Object.keys(value);
    const known = this.#shapes.get(keys.length);
    if (known !== undefined) {
      search: for (const shape of known) {
        for (let i = 0; i < keys.length; i++) if (shape.given[i] !== keys[i]) continue search;
        return shape.layout;
      }
    }
    return this.#newShape(value, keys);
  }

  #newShape(value: object, given: string[]): Layout {
    const prototype = Object.getPrototypeOf(value);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (!isPlain) {
      throw new TypeError(`Only plain data can be written, not a ${prototype.constructor?.name}`);
    }
    assert(!given.includes("__proto__"), "Cannot write an object with the key '__proto__'");
    const keys = given.toSorted(byCodeUnits);
    const text = JSON.stringify(keys);
    const layout = this.#layouts.get(text) ?? { keys, hasIdentity: this.#hasIdentity(keys), values: -1, number: 0 };
    this.#layouts.set(text, layout);
    const known = this.#shapes.get(given.length);
    if (known === undefined) this.#shapes.set(given.length, [{ given, layout }]);
    else known.push({ given, layout });
    this.#shapeCount += 1;
    return layout;
  }

  #counted(tag: number, count: number): void {
    this.#room(10);
    this.#bytes[this.#at++] = tag;
    let rest = count;
    while (rest >= 0x80) {
      this.#bytes[this.#at++] = 0x80 | (rest % 0x80);
      rest = rest < 2 ** 31 ? rest >>> 7 : Math.floor(rest / 0x80);
    }
    this.#bytes[this.#at++] = rest;
  }

  #byte(byte: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = byte;
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const old = this.#bytes;
    this.#resize(Math.max(needed, 2 * old.length));
    this.#bytes.set(old.subarray(0, this.#at));
  }

  #resize(bytes: number): void {
    this.#bytes = new Uint8Array(bytes);
    this.#view = new DataView(this.#bytes.buffer);
  }
}

const byCodeUnits = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0;
