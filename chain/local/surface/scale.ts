/**
 * SCALE by the surface's types.
 *
 * Values: numbers up to 32 bits, bigints above and for compact ones, booleans, strings for `str`, Uint8Array for
 * `Vec<u8>` and `[u8; n]`, arrays for lists and tuples, `{camelCaseField: value}` for structs, `{type, value}` or a
 * bare name for enums, null for an empty option. Encoding also takes numbers for bigints, text for bytes, and zero for
 * missing fields. Decoding is strict: its input is untrusted.
 */

import { assert } from "../../../core/assert.ts";
import { ScaleError, ScaleReader, ScaleWriter } from "./scale_bytes.ts";
import { type NamedType, type NamedTypes, parseType, type Primitive, type TypeNode } from "./type_language.ts";

/** In bytes; null: not an integer. */
const widths: Readonly<Record<Primitive, number | null>> = {
  bool: null,
  str: null,
  u8: 1,
  u16: 2,
  u32: 4,
  u64: 8,
  u128: 16,
  i8: 1,
  i16: 2,
  i32: 4,
  i64: 8,
  i128: 16,
};

export interface Scale {
  encode(type: string, value: unknown): Uint8Array;
  /** Throws `ScaleError` unless it is exactly one value. */
  decode(type: string, bytes: Uint8Array): unknown;
  write(type: string, value: unknown, writer: ScaleWriter): void;
  read(type: string, reader: ScaleReader): unknown;
}

export function scaleOf(named: NamedTypes): Scale {
  return {
    encode(type, value) {
      const writer = new ScaleWriter();
      writeValue(parseType(type), { value, named, writer });
      return writer.bytes();
    },
    decode(type, bytes) {
      const reader = new ScaleReader(bytes);
      const value = readValue(parseType(type), { named, reader });
      reader.end();
      return value;
    },
    write: (type, value, writer) => writeValue(parseType(type), { value, named, writer }),
    read: (type, reader) => readValue(parseType(type), { named, reader }),
  };
}

export function camelCase(name: string): string {
  return name.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

interface Writing {
  readonly value: unknown; // undefined: zero
  readonly named: NamedTypes;
  readonly writer: ScaleWriter;
}

function writeValue(node: TypeNode, { value, named, writer }: Writing): void {
  const write = (of: TypeNode, item: unknown) => writeValue(of, { value: item, named, writer });
  switch (node.kind) {
    case "primitive":
      return writePrimitive(node.name, { value, named, writer });
    case "compact":
      return writeCompact(node.of, { value, named, writer });
    case "option":
      if (value === undefined || value === null) return writer.u8(0);
      writer.u8(1);
      return write(node.of, value);
    case "vec": {
      const items = listOf(value ?? []);
      writer.compact(items.length);
      if (items instanceof Uint8Array && isByte(node.of)) return writer.raw(items);
      for (const item of items) write(node.of, item);
      return;
    }
    case "array": {
      const items = value === undefined ? new Uint8Array(node.length) : listOf(value);
      assert(
        items.length === node.length,
        `Cannot encode an array as its length must be ${node.length}: current value is ${items.length}`,
      );
      for (const item of items) write(node.of, item);
      return;
    }
    case "tuple": {
      const items = value === undefined ? [] : listOf(value);
      node.items.forEach((of, i) => write(of, items[i]));
      return;
    }
    case "named":
      return writeNamed(definition(named, node.name), { value, named, writer });
  }
}

function writePrimitive(name: Primitive, { value, writer }: Writing): void {
  if (name === "bool") return writer.u8(value === true ? 1 : 0);
  if (name === "str") return writer.text(String(value ?? ""));
  const width = widths[name]!;
  const number = wholeNumber(value ?? 0);
  const isSigned = name.startsWith("i");
  const fits = isSigned ? BigInt.asIntN(width * 8, number) : BigInt.asUintN(width * 8, number);
  assert(fits === number, `Cannot encode a ${name} as it must fit ${width} bytes: current value is ${number}`);
  writer.integer(number, width);
}

/** The compact form of `()`, in an address's unused variant, is empty. */
function writeCompact(of: TypeNode, { value, writer }: Writing): void {
  const bits = bitsOf(of);
  if (bits === 0n) return;
  const number = wholeNumber(value ?? 0);
  assert(
    number >> bits === 0n,
    `Cannot encode a compact integer as it must fit ${bits} bits: current value is ${number}`,
  );
  writer.compact(number);
}

function readCompact(of: TypeNode, reader: ScaleReader): bigint | null {
  const bits = bitsOf(of);
  if (bits === 0n) return null;
  const number = reader.compact();
  if (number >> bits !== 0n) throw new ScaleError(`it must fit ${bits} bits: current value is ${number}`);
  return number;
}

function bitsOf(node: TypeNode): bigint {
  return node.kind === "primitive" ? BigInt((widths[node.name] ?? 0) * 8) : 0n;
}

function writeNamed(type: NamedType, { value, named, writer }: Writing): void {
  if ("wraps" in type) return writeValue(parseType(type.wraps), { value, named, writer });
  if ("fields" in type) {
    const fields = (value ?? {}) as Readonly<Record<string, unknown>>;
    for (const [name, of] of Object.entries(type.fields)) {
      writeValue(parseType(of), { value: fields[camelCase(name)], named, writer });
    }
    return;
  }
  const chosen = typeof value === "object" && value !== null ? value as { type: string; value?: unknown } : null;
  const name = chosen?.type ?? value ?? Object.keys(type.variants)[0];
  const variant = type.variants[String(name)];
  assert(variant !== undefined, `Cannot encode ${type.path} as its variant must be declared: current value is ${name}`);
  writer.u8(variant.index);
  const values = variant.fields.length === 1 ? [chosen?.value] : (chosen?.value ?? []) as readonly unknown[];
  variant.fields.forEach((field, i) => writeValue(parseType(field.type), { value: values[i], named, writer }));
}

interface Reading {
  readonly named: NamedTypes;
  readonly reader: ScaleReader;
}

function readValue(node: TypeNode, reading: Reading): unknown {
  const { reader } = reading;
  switch (node.kind) {
    case "primitive":
      return readPrimitive(node.name, reader);
    case "compact":
      return readCompact(node.of, reader);
    case "option":
      return readFlag(reader) ? readValue(node.of, reading) : null;
    case "vec": {
      if (isByte(node.of)) return reader.blob();
      return Array.from({ length: reader.count() }, () => readValue(node.of, reading));
    }
    case "array":
      if (isByte(node.of)) return reader.raw(node.length);
      return Array.from({ length: node.length }, () => readValue(node.of, reading));
    case "tuple":
      return node.items.map((item) => readValue(item, reading));
    case "named":
      return readNamed(definition(reading.named, node.name), reading);
  }
}

function readPrimitive(name: Primitive, reader: ScaleReader): unknown {
  if (name === "bool") return readFlag(reader);
  if (name === "str") return new TextDecoder().decode(reader.blob());
  const width = widths[name]!;
  const value = reader.integer(width, name.startsWith("i"));
  return width > 4 ? value : Number(value);
}

function readNamed(type: NamedType, reading: Reading): unknown {
  if ("wraps" in type) return readValue(parseType(type.wraps), reading);
  if ("fields" in type) {
    const entries = Object.entries(type.fields);
    return Object.fromEntries(entries.map(([name, of]) => [camelCase(name), readValue(parseType(of), reading)]));
  }
  const index = reading.reader.u8();
  const found = Object.entries(type.variants).find(([, variant]) => variant.index === index);
  if (found === undefined) throw new ScaleError(`${type.path} must have a known variant: current value is ${index}`);
  const [name, { fields }] = found;
  const values = fields.map((field) => readValue(parseType(field.type), reading));
  return { type: name, value: values.length === 1 ? values[0] : values };
}

function readFlag(reader: ScaleReader): boolean {
  const byte = reader.u8();
  if (byte > 1) throw new ScaleError(`a flag must be 0 or 1: current value is ${byte}`);
  return byte === 1;
}

function definition(named: NamedTypes, name: string): NamedType {
  const type = named[name];
  assert(type !== undefined, `The type '${name}' is not declared in the surface`);
  return type;
}

function isByte(node: TypeNode): boolean {
  return node.kind === "primitive" && node.name === "u8";
}

function wholeNumber(value: unknown): bigint {
  if (typeof value === "bigint") return value;
  assert(Number.isSafeInteger(value), `Cannot encode an integer as it must be one: current value is ${String(value)}`);
  return BigInt(value as number);
}

function listOf(value: unknown): readonly unknown[] | Uint8Array {
  if (typeof value === "string") return new TextEncoder().encode(value);
  assert(
    Array.isArray(value) || value instanceof Uint8Array,
    `Cannot encode a list as it must be an array: current value is ${String(value)}`,
  );
  return value as readonly unknown[];
}
