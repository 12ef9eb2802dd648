/**
 * Storage keys: twox128(pallet) ++ twox128(item) ++ each map key after its hash. Unknown keys and wrong hashes give
 * null.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import type { Hasher, StorageItem, Surface } from "./description.ts";
import type { Scale } from "./scale.ts";
import { ScaleError, ScaleReader, ScaleWriter } from "./scale_bytes.ts";
import { twox128, twox64 } from "./xxhash.ts";

const prefixBytes = 32;

export interface StorageEntry {
  readonly name: string; // such as "SubtensorModule.Tempo"
  readonly item: StorageItem;
  readonly prefix: Uint8Array;
}

export interface StorageKeys {
  readonly entries: readonly StorageEntry[];
  entry(name: string): StorageEntry | null;
  /** For a key or a longer prefix. */
  entryOf(key: Uint8Array): StorageEntry | null;
  read(key: Uint8Array): { readonly entry: StorageEntry; readonly keys: readonly unknown[] } | null;
  build(entry: StorageEntry, keys: readonly unknown[]): Uint8Array;
}

export function storageKeysOf(surface: Surface, scale: Scale): StorageKeys {
  const entries = surface.pallets.flatMap((pallet) =>
    pallet.storage.map((item) => ({
      name: `${pallet.name}.${item.name}`,
      item,
      prefix: prefixOf(pallet.name, item.name),
    }))
  );
  const byPrefix = new Map(entries.map((entry) => [entry.prefix.toHex(), entry]));
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const entryOf = (key: Uint8Array) => byPrefix.get(key.subarray(0, prefixBytes).toHex()) ?? null;
  return {
    entries,
    entry: (name) => byName.get(name) ?? null,
    entryOf,
    read(key) {
      const entry = entryOf(key);
      if (entry === null) return null;
      const keys = readKeys(entry.item, { bytes: key.subarray(prefixBytes), scale });
      return keys === null ? null : { entry, keys };
    },
    build(entry, keys) {
      const writer = new ScaleWriter();
      writer.raw(entry.prefix);
      entry.item.keys.forEach(({ hasher, type }, i) => {
        const encoded = scale.encode(type, keys[i]);
        writer.raw(hashed(hasher, encoded));
        writer.raw(encoded);
      });
      return writer.bytes();
    },
  };
}

function prefixOf(pallet: string, item: string): Uint8Array {
  const writer = new ScaleWriter();
  for (const name of [pallet, item]) writer.raw(twox128(new TextEncoder().encode(name)));
  return writer.bytes();
}

function readKeys(item: StorageItem, from: { bytes: Uint8Array; scale: Scale }): unknown[] | null {
  const { bytes, scale } = from;
  const reader = new ScaleReader(bytes);
  const keys: unknown[] = [];
  try {
    for (const { hasher, type } of item.keys) {
      const hash = reader.raw(hashBytes[hasher]);
      const start = reader.position;
      keys.push(scale.read(type, reader));
      const expected = hashed(hasher, bytes.subarray(start, reader.position));
      if (expected.some((byte, i) => byte !== hash[i])) return null;
    }
    reader.end();
    return keys;
  } catch (error) {
    if (error instanceof ScaleError) return null;
    throw error;
  }
}

const hashBytes: Readonly<Record<Hasher, number>> = { identity: 0, twox64Concat: 8, blake2_128Concat: 16 };

function hashed(hasher: Hasher, bytes: Uint8Array): Uint8Array {
  if (hasher === "identity") return new Uint8Array(0);
  return hasher === "twox64Concat" ? twox64(bytes) : blake2b(bytes, { dkLen: 16 });
}
