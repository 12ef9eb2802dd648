/**
 * The types of the runtime surface as text, in the notation of the runtime's own source: "Vec<(AccountId, u64)>".
 *
 * Owns: the grammar, the shape of a parsed type and the declarations of named types. Out of scope: bytes (scale.ts) and
 * metadata (type_table.ts). All texts are ours, so a parse error is our bug.
 *
 *     type    = name | "Compact<" type ">" | "Vec<" type ">" | "Option<" type ">" | "(" types ")" | "[" type "; " length "]"
 */

import { assert, present } from "../../../core/assert.ts";

export const primitives = [
  "bool",
  "str",
  "u8",
  "u16",
  "u32",
  "u64",
  "u128",
  "i8",
  "i16",
  "i32",
  "i64",
  "i128",
] as const;
export type Primitive = typeof primitives[number];

export type TypeNode =
  | { readonly kind: "primitive"; readonly name: Primitive }
  | { readonly kind: "compact"; readonly of: TypeNode }
  | { readonly kind: "vec"; readonly of: TypeNode }
  | { readonly kind: "option"; readonly of: TypeNode }
  | { readonly kind: "array"; readonly of: TypeNode; readonly length: number }
  | { readonly kind: "tuple"; readonly items: readonly TypeNode[] }
  | { readonly kind: "named"; readonly name: string };

/** A type with a path in the runtime's source, by which clients recognise some types. */
export type NamedType =
  & {
    readonly path: string; // "sp_core::crypto::AccountId32"
    readonly parameters?: Readonly<Record<string, string>>; // generic parameters, if a client reads them
  }
  & (
    | { readonly wraps: string } // one field without a name
    | { readonly fields: Readonly<Record<string, string>> } // snake case, in order
    | { readonly variants: Readonly<Record<string, Variant>> }
  );

export interface Variant {
  readonly index: number;
  readonly doc?: string; // travels in metadata; clients show an error's to people
  readonly fields: readonly VariantField[];
}

export interface VariantField {
  readonly name: string | null;
  readonly type: string;
}

export type NamedTypes = Readonly<Record<string, NamedType>>;

const wrappers = { Compact: "compact", Vec: "vec", Option: "option" } as const;

const parsedTypes = new Map<string, TypeNode>();

export function parseType(text: string): TypeNode {
  const known = parsedTypes.get(text);
  if (known !== undefined) return known;
  const reader = { text, at: 0 };
  const node = readType(reader);
  assert(reader.at === text.length, `Cannot parse the type '${text}': it should end at character ${reader.at}`);
  parsedTypes.set(text, node);
  return node;
}

/** A variant without fields, or with fields that have no names, which is how most events are declared. */
export function variant(index: number, ...types: string[]): Variant {
  return { index, fields: types.map((type) => ({ name: null, type })) };
}

export function plainVariants(names: readonly string[]): Readonly<Record<string, Variant>> {
  return Object.fromEntries(names.map((name, index) => [name, variant(index)]));
}

interface Reader {
  readonly text: string;
  at: number;
}

function readType(reader: Reader): TypeNode {
  if (accept(reader, "(")) return { kind: "tuple", items: readTupleItems(reader) };
  if (accept(reader, "[")) {
    const of = readType(reader);
    expect(reader, "; ");
    const length = Number(readWord(reader));
    expect(reader, "]");
    return { kind: "array", of, length };
  }
  const word = readWord(reader);
  if (Object.hasOwn(wrappers, word)) {
    expect(reader, "<");
    const of = readType(reader);
    expect(reader, ">");
    return { kind: wrappers[word as keyof typeof wrappers], of };
  }
  const primitive = primitives.find((name) => name === word);
  return primitive === undefined ? { kind: "named", name: word } : { kind: "primitive", name: primitive };
}

function readTupleItems(reader: Reader): TypeNode[] {
  const items: TypeNode[] = [];
  if (accept(reader, ")")) return items;
  do items.push(readType(reader)); while (accept(reader, ", "));
  expect(reader, ")");
  return items;
}

function readWord(reader: Reader): string {
  const word = present(
    /^\w+/.exec(reader.text.slice(reader.at)),
    `Cannot parse the type '${reader.text}': no name at character ${reader.at}`,
  )[0];
  reader.at += word.length;
  return word;
}

function accept(reader: Reader, token: string): boolean {
  if (!reader.text.startsWith(token, reader.at)) return false;
  reader.at += token.length;
  return true;
}

function expect(reader: Reader, token: string): void {
  assert(
    accept(reader, token),
    `Cannot parse the type '${reader.text}': no '${token}' at character ${reader.at}`,
  );
}
