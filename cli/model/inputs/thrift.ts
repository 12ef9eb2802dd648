/**
 * Thrift's compact protocol, as Parquet keeps its metadata, read with every claim checked: a list's length against the
 * bytes that are left, numbers against their width, nesting against a limit. What this reads is harmless to a reader
 * that believes its numbers.
 */

/** By field id. Strings and doubles are left out: nothing here needs them. */
export interface ThriftStruct {
  readonly [field: number]: ThriftValue;
}
export type ThriftValue = number | boolean | ThriftStruct | readonly ThriftValue[] | null;

const kinds = { isTrue: 1, isFalse: 2, byte: 3, i16: 4, i32: 5, i64: 6, double: 7, binary: 8, list: 9, struct: 12 };
const deepest = 16; // Parquet's own nesting is half of that
const longestVarint = 10; // bytes of 64 bits

/** A struct, and where it ends. Throws if it is damaged. */
export function readThrift(bytes: Uint8Array, at: number): { value: ThriftStruct; end: number } {
  const reader = new ThriftReader(bytes, at);
  const value = reader.struct(0);
  return { value, end: reader.at };
}

class ThriftReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  struct(depth: number): ThriftStruct {
    if (depth > deepest) throw new Error("its metadata is nested too deeply");
    const fields: Record<number, ThriftValue> = {};
    let field = 0;
    for (;;) {
      const head = this.#byte();
      const kind = head & 15;
      if (kind === 0) return fields;
      field = head >> 4 === 0 ? this.#signed() : field + (head >> 4);
      fields[field] = this.#value(kind, depth);
    }
  }

  #value(kind: number, depth: number): ThriftValue {
    switch (kind) {
      case kinds.isTrue:
      case kinds.isFalse:
        return kind === kinds.isTrue;
      case kinds.byte:
        return this.#byte();
      case kinds.i16:
      case kinds.i32:
      case kinds.i64:
        return this.#signed();
      case kinds.double:
        return this.#skip(8);
      case kinds.binary:
        return this.#skip(this.#unsigned());
      case kinds.list:
        return this.#list(depth);
      case kinds.struct:
        return this.struct(depth + 1);
      default:
        throw new Error(`its metadata has a value of unknown kind ${kind}`);
    }
  }

  #list(depth: number): ThriftValue[] {
    const head = this.#byte();
    const count = head >> 4 === 15 ? this.#unsigned() : head >> 4;
    if (count > this.#bytes.length - this.at || depth > deepest) {
      throw new Error(`its metadata has a list of ${count} values, more than there are bytes`);
    }
    const kind = head & 15;
    const isFlag = kind === kinds.isTrue || kind === kinds.isFalse;
    return Array.from({ length: count }, () => this.#value(isFlag ? kinds.byte : kind, depth + 1));
  }

  #byte(): number {
    const byte = this.#bytes[this.at++];
    if (byte === undefined) throw new Error("its metadata is cut off");
    return byte;
  }

  #skip(count: number): null {
    if (count > this.#bytes.length - this.at) throw new Error("its metadata is cut off");
    this.at += count;
    return null;
  }

  #unsigned(): number {
    let value = 0;
    for (let i = 0; i < longestVarint; i++) {
      const byte = this.#byte();
      value += (byte & 127) * 2 ** (7 * i);
      if (byte < 128) return value;
    }
    throw new Error("its metadata has a number of more than 64 bits");
  }

  /** Zigzag. */
  #signed(): number {
    const value = this.#unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }
}
