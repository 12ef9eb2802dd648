/**
 * A runtime's public surface as plain data, written by hand in the files beside this one, read by the metadata
 * generator and the node. Types are texts in the syntax of type_language.ts.
 */

import type { NamedTypes, Variant } from "./type_language.ts";

/** A map's key hasher. `identity` and the `Concat` ones end with the key itself, so a hashed key can be read back. */
export type Hasher = "identity" | "twox64Concat" | "blake2_128Concat";

export interface StorageKey {
  readonly hasher: Hasher;
  readonly type: string;
}

export interface StorageItem {
  readonly name: string;
  readonly keys: readonly StorageKey[]; // none: a single value
  readonly value: string;
  /**
   * How an absent value reads: as the type's zero, as other bytes (hex), or as nothing, so that the client sees an
   * option.
   */
  readonly absent: "zero" | "none" | `0x${string}`;
}

export interface Call {
  readonly index: number;
  readonly name: string; // snake case
  readonly args: readonly (readonly [name: string, type: string])[];
}

export interface Constant {
  readonly name: string;
  readonly type: string;
  readonly value: unknown; // of `type`, see scale.ts
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

/** What an extrinsic carries besides its call (`carried`), and what is signed but not sent (`implied`). */
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

/** Without `absent`, a missing value reads as the type's zero. */
export function stored(
  name: string,
  ...[keys, value, absent = "zero"]: [readonly StorageKey[], string, StorageItem["absent"]?]
): StorageItem {
  return { name, keys, value, absent };
}

/** `call(0, "set_weights", "netuid: u16, dests: Vec<u16>")` */
export function call(index: number, name: string, args = ""): Call {
  return { index, name, args: argumentsOf(args) };
}

export function method(name: string, args: string, answer: string): RuntimeApiMethod {
  return { name, args: argumentsOf(args), answer };
}

/** Splits at the names, because types contain commas too. */
function argumentsOf(text: string): (readonly [string, string])[] {
  const parts = text === "" ? [] : text.split(/(?:^|, )(?=\w+: )/).filter((part) => part !== "");
  return parts.map((part) => {
    const colon = part.indexOf(": ");
    return [part.slice(0, colon), part.slice(colon + 2)] as const;
  });
}
