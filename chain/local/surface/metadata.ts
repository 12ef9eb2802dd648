/** A surface as metadata. Version 14 lacks the runtime APIs of 15. */

import type { Hasher, Pallet, RuntimeApi, StorageItem, Surface } from "./description.ts";
import { type Scale, scaleOf } from "./scale.ts";
import { ScaleWriter } from "./scale_bytes.ts";
import { type NamedTypes, type Variant, variant } from "./type_language.ts";
import { TypeTable } from "./type_table.ts";

export type MetadataVersion = 14 | 15;

const hasherTags: Readonly<Record<Hasher, number>> = { blake2_128Concat: 2, twox64Concat: 5, identity: 6 };
const extrinsicVersion = 4;
const runtimePath = "node_subtensor_runtime"; // clients recognise this ending

interface Writing {
  readonly writer: ScaleWriter;
  readonly types: TypeTable;
  readonly scale: Scale;
  readonly version: MetadataVersion;
}

export function metadataOf(surface: Surface, version: MetadataVersion): Uint8Array {
  const named = typesOf(surface);
  const types = new TypeTable(named);
  const body: Writing = { writer: new ScaleWriter(), types, scale: scaleOf(named), version };
  writePallets(body, surface.pallets);
  writeExtrinsic(body, surface);
  body.writer.compact(types.id("Runtime"));
  if (version === 15) {
    writeApis(body, surface.apis);
    for (const outer of ["RuntimeCall", "RuntimeEvent", "RuntimeError"]) body.writer.compact(types.id(outer));
    body.writer.compact(0); // custom values
  }
  const whole = new ScaleWriter();
  whole.raw(new TextEncoder().encode("meta"));
  whole.u8(version);
  types.write(whole);
  whole.raw(body.writer.bytes());
  return whole.bytes();
}

/** Adds pallets' calls, events, errors, and their unions. */
export function typesOf(surface: Surface): NamedTypes {
  const calls: Record<string, Variant> = {};
  const events: Record<string, Variant> = {};
  const errors: Record<string, Variant> = {};
  const ofPallets: Record<string, NamedTypes[string]> = {};
  for (const pallet of surface.pallets) {
    const path = `${pallet.crate}::pallet`;
    if (pallet.calls.length > 0) {
      calls[pallet.name] = variant(pallet.index, `${pallet.name}Call`);
      ofPallets[`${pallet.name}Call`] = { path: `${path}::Call`, variants: callVariants(pallet) };
    }
    if (Object.keys(pallet.events).length > 0) {
      events[pallet.name] = variant(pallet.index, `${pallet.name}Event`);
      ofPallets[`${pallet.name}Event`] = { path: `${path}::Event`, variants: pallet.events };
    }
    if (pallet.errors.length > 0) {
      errors[pallet.name] = variant(pallet.index, `${pallet.name}Error`);
      const variants = Object.fromEntries(
        pallet.errors.map((name, index) => [name, { index, fields: [], doc: sentenceOf(name) }]),
      );
      ofPallets[`${pallet.name}Error`] = { path: `${path}::Error`, variants };
    }
  }
  return {
    ...surface.types,
    ...ofPallets,
    RuntimeCall: { path: `${runtimePath}::RuntimeCall`, variants: calls },
    RuntimeEvent: { path: `${runtimePath}::RuntimeEvent`, variants: events },
    RuntimeError: { path: `${runtimePath}::RuntimeError`, variants: errors },
    Runtime: { path: `${runtimePath}::Runtime`, fields: {} },
  };
}

/** The Python SDK needs documentation to show an error. */
function sentenceOf(name: string): string {
  return name.replace(/[A-Z]+/g, (letters, at: number) => at === 0 ? letters : ` ${letters.toLowerCase()}`);
}

function callVariants(pallet: Pallet): Readonly<Record<string, Variant>> {
  return Object.fromEntries(
    pallet.calls.map(({ name, index, args }) => [
      name,
      { index, fields: args.map(([argument, type]) => ({ name: argument, type })) },
    ]),
  );
}

function writePallets(to: Writing, pallets: readonly Pallet[]): void {
  const { writer, types, version } = to;
  writer.compact(pallets.length);
  for (const pallet of pallets) {
    writer.text(pallet.name);
    writer.u8(1);
    writer.text(pallet.name); // prefix of its storage keys
    writer.compact(pallet.storage.length);
    for (const item of pallet.storage) writeStorageItem(to, item);
    writeOptionalType(to, pallet.calls.length > 0 ? `${pallet.name}Call` : null);
    writeOptionalType(to, Object.keys(pallet.events).length > 0 ? `${pallet.name}Event` : null);
    writer.compact(pallet.constants.length);
    for (const { name, type, value } of pallet.constants) {
      writer.text(name);
      writer.compact(types.id(type));
      writer.blob(to.scale.encode(type, value));
      writer.compact(0);
    }
    writeOptionalType(to, pallet.errors.length > 0 ? `${pallet.name}Error` : null);
    writer.u8(pallet.index);
    if (version === 15) writer.compact(0); // documentation
  }
}

function writeOptionalType({ writer, types }: Writing, type: string | null): void {
  writer.u8(type === null ? 0 : 1);
  if (type !== null) writer.compact(types.id(type));
}

function writeStorageItem({ writer, types, scale }: Writing, item: StorageItem): void {
  writer.text(item.name);
  writer.u8(item.absent === "none" ? 0 : 1);
  const value = types.id(item.value);
  if (item.keys.length === 0) {
    writer.u8(0);
  } else {
    writer.u8(1);
    writer.compact(item.keys.length);
    for (const { hasher } of item.keys) writer.u8(hasherTags[hasher]);
    const [first] = item.keys;
    const key = item.keys.length === 1 ? first!.type : `(${item.keys.map((each) => each.type).join(", ")})`;
    writer.compact(types.id(key));
  }
  writer.compact(value);
  writer.blob(bytesWhenAbsent(item, scale));
  writer.compact(0);
}

function bytesWhenAbsent({ absent, value }: StorageItem, scale: Scale): Uint8Array {
  if (absent === "none") return Uint8Array.of(0);
  return absent === "zero" ? scale.encode(value, undefined) : Uint8Array.fromHex(absent.slice(2));
}

function writeExtrinsic({ writer, types, version }: Writing, { extensions }: Surface): void {
  const extra = `(${extensions.map(({ carried }) => carried).join(", ")})`;
  const parts = [
    { name: "Address", type: "MultiAddress" },
    { name: "Call", type: "RuntimeCall" },
    { name: "Signature", type: "MultiSignature" },
    { name: "Extra", type: extra },
  ];
  const whole = types.idOfExtrinsic(parts);
  if (version === 14) writer.compact(whole);
  writer.u8(extrinsicVersion);
  if (version === 15) { for (const { type } of parts) writer.compact(types.id(type)); }
  writer.compact(extensions.length);
  for (const { name, carried, implied } of extensions) {
    writer.text(name);
    writer.compact(types.id(carried));
    writer.compact(types.id(implied));
  }
}

function writeApis({ writer, types }: Writing, apis: readonly RuntimeApi[]): void {
  writer.compact(apis.length);
  for (const api of apis) {
    writer.text(api.name);
    writer.compact(api.methods.length);
    for (const { name, args, answer } of api.methods) {
      writer.text(name);
      writer.compact(args.length);
      for (const [argument, type] of args) {
        writer.text(argument);
        writer.compact(types.id(type));
      }
      writer.compact(types.id(answer));
      writer.compact(0);
    }
    writer.compact(0);
  }
}
