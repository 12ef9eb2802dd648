/**
 * Types as text, as in the runtime's source. All texts are ours, so a parse error is our bug.
 *
 *   type = name | "Compact<" type ">" | "Vec<" type ">" | "Option<" type ">" | "(" types ")" | "[" type "; " length "]"
 */

import { assert, present } from "../../../core/assert.ts";

const primitives = [
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

/** Clients recognise some types by their path. */
export type NamedType =
  & {
    readonly path: string; // such as "sp_core::crypto::AccountId32"
    readonly parameters?: Readonly<Record<string, string>>;
  }
  & (
    | { readonly wraps: string } // one unnamed field
    | { readonly fields: Readonly<Record<string, string>> } // snake case, in order
    | { readonly variants: Readonly<Record<string, Variant>> }
  );

export interface Variant {
  readonly index: number;
  readonly doc?: string; // in metadata; clients show that of errors
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
