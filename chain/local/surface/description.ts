/** A runtime's public surface. Types are texts (type_language.ts). */

import type { NamedTypes, Variant } from "./type_language.ts";

/** Hashed keys can be read back: they end with the key, or are it. */
export type Hasher = "identity" | "twox64Concat" | "blake2_128Concat";

export interface StorageKey {
  readonly hasher: Hasher;
  readonly type: string;
}

export interface StorageItem {
  readonly name: string;
  readonly keys: readonly StorageKey[];
  readonly value: string;
  /** What a client reads: the type's zero, these bytes, or an empty option. */
  readonly absent: "zero" | "none" | `0x${string}`;
}

export interface Call {
  readonly index: number;
  readonly name: string;
  readonly args: readonly (readonly [name: string, type: string])[];
}

interface Constant {
  readonly name: string;
  readonly type: string;
  readonly value: unknown;
}

export interface Pallet {
  readonly name: string;
  readonly index: number;
  readonly crate: string; // first word of its types' paths
  readonly calls: readonly Call[];
  readonly storage: readonly StorageItem[];
  readonly events: Readonly<Record<string, Variant>>;
  readonly errors: readonly string[]; // the position is the index
  readonly constants: readonly Constant[];
}

export interface RuntimeApiMethod {
  readonly name: string;
  readonly args: readonly (readonly [name: string, type: string])[];
  readonly answer: string;
}

export interface RuntimeApi {
  readonly name: string;
  readonly version: number;
  readonly methods: readonly RuntimeApiMethod[];
}

/** `carried` is sent; `implied` is only signed. */
export interface SignedExtension {
  readonly name: string;
  readonly carried: string;
  readonly implied: string;
}

export interface Surface {
  readonly specVersion: number;
  readonly transactionVersion: number;
  readonly types: NamedTypes;
  readonly pallets: readonly Pallet[];
  readonly apis: readonly RuntimeApi[];
  readonly extensions: readonly SignedExtension[];
}

export const identity = (type: string): StorageKey => ({ hasher: "identity", type });
export const twox = (type: string): StorageKey => ({ hasher: "twox64Concat", type });
export const blake2 = (type: string): StorageKey => ({ hasher: "blake2_128Concat", type });

export function stored(
  name: string,
  ...[keys, value, absent = "zero"]: [readonly StorageKey[], string, StorageItem["absent"]?]
): StorageItem {
  return { name, keys, value, absent };
}

/** For example `call(0, "set_weights", "netuid: u16, dests: Vec<u16>")`. */
export function call(index: number, name: string, args = ""): Call {
  return { index, name, args: argumentsOf(args) };
}

export function method(name: string, args: string, answer: string): RuntimeApiMethod {
  return { name, args: argumentsOf(args), answer };
}

/** Splits at names, because types contain commas. */
function argumentsOf(text: string): (readonly [string, string])[] {
  const parts = text === "" ? [] : text.split(/(?:^|, )(?=\w+: )/).filter((part) => part !== "");
  return parts.map((part) => {
    const colon = part.indexOf(": ");
    return [part.slice(0, colon), part.slice(colon + 2)] as const;
  });
}
