/**
 * Whether two metadata declare the same encoding: compares our generated surface with a real chain's.
 *
 * A newtype counts as what it wraps. An enum may have fewer variants than the other's, since a surface leaves out what is not used;
 * those it has must have the same number, name and fields.
 */

import { Metadata, TypeRegistry } from "@polkadot/types";

interface Field {
  readonly name: string | null;
  readonly type: number;
}

interface Variant {
  readonly name: string;
  readonly index: number;
  readonly fields: readonly Field[];
}

interface TypeEntry {
  readonly type: {
    readonly path: readonly string[];
    readonly def: {
      readonly composite?: { readonly fields: readonly Field[] };
      readonly variant?: { readonly variants: readonly Variant[] };
      readonly sequence?: { readonly type: number };
      readonly array?: { readonly len: number; readonly type: number };
      readonly tuple?: readonly number[];
      readonly primitive?: string;
      readonly compact?: { readonly type: number };
    };
  };
}

interface StorageItem {
  readonly name: string;
  readonly modifier: string;
  readonly type: {
    readonly plain?: number;
    readonly map?: { readonly hashers: readonly string[]; readonly key: number; readonly value: number };
  };
  readonly fallback: string;
}

interface Pallet {
  readonly name: string;
  readonly index: number;
  readonly storage: { readonly prefix: string; readonly items: readonly StorageItem[] } | null;
  readonly calls: { readonly type: number } | null;
  readonly events: { readonly type: number } | null;
  readonly errors: { readonly type: number } | null;
  readonly constants: readonly { readonly name: string; readonly type: number }[];
}

/** Metadata 15 as plain data. */
export interface PlainMetadata {
  readonly lookup: { readonly types: readonly TypeEntry[] };
  readonly pallets: readonly Pallet[];
  readonly extrinsic: {
    readonly version: number;
    readonly addressType: number;
    readonly signatureType: number;
    readonly signedExtensions: readonly {
      readonly identifier: string;
      readonly type: number;
      readonly additionalSigned: number;
    }[];
  };
  readonly apis: readonly {
    readonly name: string;
    readonly methods: readonly {
      readonly name: string;
      readonly inputs: readonly { readonly name: string; readonly type: number }[];
      readonly output: number;
    }[];
  }[];
}

export function plainMetadata(bytes: Uint8Array): PlainMetadata {
  const registry = new TypeRegistry();
  return new Metadata(registry, bytes).asV15.toJSON() as unknown as PlainMetadata;
}

/** Where the encoding of `ours` differs from `theirs`; empty if nowhere. `compared` counts the comparisons. */
export function metadataProblems(ours: PlainMetadata, theirs: PlainMetadata): { problems: string[]; compared: number } {
  const problems: string[] = [];
  let compared = 0;
  const check = (what: string, types: readonly [number, number] | null) => {
    compared++;
    const problem = types === null ? "is missing there" : typeProblem(ours, theirs, types);
    if (problem !== null) problems.push(`${what}: ${problem}`);
  };
  for (const pallet of ours.pallets) {
    const other = theirs.pallets.find(({ name }) => name === pallet.name);
    if (other === undefined || other.index !== pallet.index) {
      problems.push(`pallet ${pallet.name}: has another number or is missing there`);
      continue;
    }
    for (const part of ["calls", "events", "errors"] as const) {
      if (pallet[part] === null) continue;
      const theirPart = other[part];
      check(`${pallet.name} ${part}`, theirPart === null ? null : [pallet[part].type, theirPart.type]);
    }
    for (const item of pallet.storage?.items ?? []) {
      const theirItem = other.storage?.items.find(({ name }) => name === item.name);
      const what = `${pallet.name}.${item.name}`;
      check(what, theirItem === undefined ? null : [valueOf(item), valueOf(theirItem)]);
      if (theirItem === undefined) continue;
      if (item.modifier !== theirItem.modifier) {
        problems.push(`${what}: is ${item.modifier} here, ${theirItem.modifier} there`);
      }
      if (item.fallback !== theirItem.fallback) {
        problems.push(`${what}: reads as ${item.fallback} where nothing is stored`);
      }
      if (String(item.type.map?.hashers) !== String(theirItem.type.map?.hashers)) {
        problems.push(`${what}: other hashers`);
      }
      if (item.type.map && theirItem.type.map) check(`${what} keys`, [item.type.map.key, theirItem.type.map.key]);
    }
    for (const { name, type } of pallet.constants) {
      const constant = other.constants.find((each) => each.name === name);
      check(`${pallet.name} constant ${name}`, constant === undefined ? null : [type, constant.type]);
    }
  }
  checkApis(ours, theirs, check);
  checkExtrinsic(ours, theirs, { check, problems });
  return { problems, compared };
}

type Check = (what: string, types: readonly [number, number] | null) => void;

function checkApis(ours: PlainMetadata, theirs: PlainMetadata, check: Check): void {
  for (const api of ours.apis) {
    const methods = theirs.apis.find(({ name }) => name === api.name)?.methods;
    for (const method of api.methods) {
      const other = methods?.find(({ name }) => name === method.name);
      const what = `${api.name}.${method.name}`;
      check(what, other === undefined ? null : [method.output, other.output]);
      if (other === undefined) continue;
      const argument = (i: number): readonly [number, number] | null =>
        other.inputs[i]?.name === method.inputs[i]!.name ? [method.inputs[i]!.type, other.inputs[i].type] : null;
      method.inputs.forEach(({ name }, i) => check(`${what} argument ${name}`, argument(i)));
      if (other.inputs.length > method.inputs.length) check(`${what} argument ${method.inputs.length}`, null);
    }
  }
}

function checkExtrinsic(ours: PlainMetadata, theirs: PlainMetadata, to: { check: Check; problems: string[] }): void {
  const { check, problems } = to;
  check("address", [ours.extrinsic.addressType, theirs.extrinsic.addressType]);
  check("signature", [ours.extrinsic.signatureType, theirs.extrinsic.signatureType]);
  const names = (metadata: PlainMetadata) => metadata.extrinsic.signedExtensions.map(({ identifier }) => identifier);
  if (String(names(ours)) !== String(names(theirs))) problems.push("extensions: other names or order");
  ours.extrinsic.signedExtensions.forEach(({ identifier, type, additionalSigned }, i) => {
    const other = theirs.extrinsic.signedExtensions[i];
    check(identifier, other === undefined ? null : [type, other.type]);
    check(`${identifier} implied`, other === undefined ? null : [additionalSigned, other.additionalSigned]);
  });
}

function valueOf({ type }: StorageItem): number {
  return type.plain ?? type.map!.value;
}

/** Null when both types have the same encoding and names. */
function typeProblem(ours: PlainMetadata, theirs: PlainMetadata, types: readonly [number, number]): string | null {
  const a = unwrapped(ours, types[0]);
  const b = unwrapped(theirs, types[1]);
  const parts = (pairs: readonly (readonly [number, number])[]): string | null => {
    for (const pair of pairs) {
      const problem = typeProblem(ours, theirs, pair);
      if (problem !== null) return problem;
    }
    return null;
  };
  if (a.primitive !== undefined || b.primitive !== undefined) {
    return a.primitive === b.primitive ? null : `${JSON.stringify(a)} is no ${JSON.stringify(b)}`;
  }
  if (a.compact && b.compact) return parts([[a.compact.type, b.compact.type]]);
  if (a.sequence && b.sequence) return parts([[a.sequence.type, b.sequence.type]]);
  if (a.array && b.array) {
    return a.array.len === b.array.len ? parts([[a.array.type, b.array.type]]) : "an array of another length";
  }
  if (a.tuple && b.tuple) return a.tuple.length === b.tuple.length ? parts(zip(a.tuple, b.tuple)) : "a longer tuple";
  if (a.composite && b.composite) return fieldsProblem(a.composite.fields, b.composite.fields, parts);
  if (a.variant && b.variant) {
    for (const variant of a.variant.variants) {
      const other = b.variant.variants.find(({ name }) => name === variant.name);
      if (other === undefined || other.index !== variant.index) return `the variant ${variant.name}`;
      const problem = fieldsProblem(variant.fields, other.fields, parts);
      if (problem !== null) return `the variant ${variant.name}: ${problem}`;
    }
    return null;
  }
  return `${JSON.stringify(a).slice(0, 60)} is no ${JSON.stringify(b).slice(0, 60)}`;
}

function fieldsProblem(
  ours: readonly Field[],
  theirs: readonly Field[],
  parts: (pairs: readonly (readonly [number, number])[]) => string | null,
): string | null {
  const names = (fields: readonly Field[]) => fields.map(({ name }) => name).join();
  if (names(ours) !== names(theirs)) return `fields ${names(ours)} against ${names(theirs)}`;
  return parts(zip(ours.map(({ type }) => type), theirs.map(({ type }) => type)));
}

function zip(a: readonly number[], b: readonly number[]): (readonly [number, number])[] {
  return a.map((type, i) => [type, b[i]!] as const);
}

/** A struct of one unnamed field, or an empty struct, counts as its content. */
function unwrapped(metadata: PlainMetadata, id: number): TypeEntry["type"]["def"] {
  const { def } = metadata.lookup.types[id]!.type;
  const fields = def.composite?.fields;
  if (fields?.length === 0) return { tuple: [] };
  if (fields?.length === 1 && fields[0]!.name === null) return unwrapped(metadata, fields[0]!.type);
  if (def.tuple?.length === 1) return unwrapped(metadata, def.tuple[0]!);
  return def;
}
