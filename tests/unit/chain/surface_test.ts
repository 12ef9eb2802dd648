/** The runtime's surface: codec, storage keys and metadata, against the independent implementation of @polkadot/types. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { expandMetadata, Metadata, TypeRegistry } from "@polkadot/types";
import { xxhashAsU8a } from "@polkadot/util-crypto";
import { metadataOf, type MetadataVersion, typesOf } from "../../../chain/local/surface/metadata.ts";
import { runtimeOf } from "../../../chain/local/surface/runtime.ts";
import { scaleOf } from "../../../chain/local/surface/scale.ts";
import { ScaleError } from "../../../chain/local/surface/scale_bytes.ts";
import { runtimeSurface } from "../../../chain/local/surface/surface.ts";
import { twox128, twox64 } from "../../../chain/local/surface/xxhash.ts";
import { metadataProblems, plainMetadata } from "../../support/chain/metadata_shapes.ts";
import { sampleValue } from "../../support/chain/sample_value.ts";
import { testWhere } from "../../support/test_where.ts";

const surface = runtimeSurface({ epochs: "stateful", blockMs: 12_000 });
const scale = scaleOf(typesOf(surface));

function registryOf(version: MetadataVersion): { registry: TypeRegistry; metadata: Metadata } {
  const registry = new TypeRegistry();
  const metadata = new Metadata(registry, metadataOf(surface, version));
  registry.setMetadata(metadata);
  return { registry, metadata };
}

for (const version of [14, 15] as const) {
  Deno.test(`Metadata: version ${version} parses, and is the same bytes when written again`, () => {
    const { metadata } = registryOf(version);
    assertEquals(metadata.version, version);
    assertEquals(metadata.toU8a().toHex(), metadataOf(surface, version).toHex());
  });
}

Deno.test("Metadata: runtime functions travel in version 15", () => {
  const { metadata } = registryOf(15);
  assertEquals(metadata.asV15.apis.map(({ name }) => name.toString()), surface.apis.map(({ name }) => name));
});

Deno.test("Metadata: a legacy surface has no stored epoch clock", () => {
  const legacy = plainMetadata(metadataOf(runtimeSurface({ epochs: "legacy", blockMs: 12_000 }), 15));
  const stateful = plainMetadata(metadataOf(surface, 15));
  const { problems } = metadataProblems(stateful, legacy);
  const clock = ["LastEpochBlock", "PendingEpochAt", "SubnetEpochIndex", "ActivityCutoffFactorMilli"];
  const later = ["CollateralLockShare", "SubnetEpochConsensus"];
  const functions = ["get_subnet_hyperparams_v3", "get_next_epoch_start_block"];
  const added = [
    ...[...clock, ...later].map((name) => `SubtensorModule.${name}`),
    ...functions.map((name) => `SubnetInfoRuntimeApi.${name}`),
  ];
  const missing = added.map((name) => `${name}: is missing there`);
  const [call, error] = ["calls: the variant register_limit", "errors: the variant RegistrationPriceLimitExceeded"];
  assertEquals(problems, [`SubtensorModule ${call}`, `SubtensorModule ${error}`, ...missing]);
});

Deno.test("Scale: every call of the surface has the bytes that another implementation gives it", () => {
  const { registry } = registryOf(15);
  for (const pallet of surface.pallets) {
    for (const call of pallet.calls) {
      const values = call.args.map(([, type], i) => sampleValue(typesOf(surface), { type, seed: i + 1 }));
      const value = values.length === 1 ? values[0] : values;
      const bytes = scale.encode("RuntimeCall", { type: pallet.name, value: { type: call.name, value } });
      assertEquals(registry.createType("Call", bytes).toU8a().toHex(), bytes.toHex(), `${pallet.name}.${call.name}`);
      assertEquals(scale.encode("RuntimeCall", scale.decode("RuntimeCall", bytes)), bytes);
    }
  }
});

Deno.test("Scale: every stored value and answer survives a round trip through another implementation", () => {
  const { registry, metadata } = registryOf(15);
  const stored = metadata.asV15.pallets.flatMap((pallet) =>
    pallet.storage.unwrapOrDefault().items.map(({ name, type }) => ({
      name: `${pallet.name}.${name}`,
      id: type.isPlain ? type.asPlain : type.asMap.value,
    }))
  );
  const answers = metadata.asV15.apis.flatMap((api) =>
    api.methods.map(({ name, output }) => ({ name: `${api.name}.${name}`, id: output }))
  );
  const types = new Map<string, string>([
    ...surface.pallets.flatMap(({ name, storage }) =>
      storage.map((item) => [`${name}.${item.name}`, item.value] as const)
    ),
    ...surface.apis.flatMap(({ name, methods }) => methods.map((of) => [`${name}.${of.name}`, of.answer] as const)),
  ]);
  for (const { name, id } of [...stored, ...answers]) {
    const type = types.get(name)!;
    if (type.includes("Digest") || type.includes("EventRecord")) continue; // special classes there, checked by the node's tests
    const bytes = scale.encode(type, sampleValue(typesOf(surface), { type, seed: 7 }));
    const theirs = registry.createType(registry.createLookupType(id), bytes);
    assertEquals(theirs.toU8a().toHex(), bytes.toHex(), name);
    assertEquals(scale.encode(type, scale.decode(type, bytes)), bytes, name);
  }
});

Deno.test("Scale: a missing field is its type's zero", () => {
  assertEquals(scale.encode("(u16, Vec<u8>, Option<u8>)", undefined), new Uint8Array(4));
  const axon = scale.decode("AxonInfo", scale.encode("AxonInfo", { port: 7 }));
  const zeros = { block: 0n, version: 0, ip: 0n, ipType: 0, protocol: 0, placeholder1: 0, placeholder2: 0 };
  assertEquals(axon, { ...zeros, port: 7 });
});

Deno.test("Scale: bytes that are not a value are rejected", () => {
  const refused: readonly [string, number[]][] = [
    ["u16", [1]],
    ["u16", [1, 2, 3]],
    ["bool", [2]],
    ["Option<u8>", [2]],
    ["Vec<u8>", [8, 1]],
    ["Vec<u64>", [0xfe, 0xff, 0xff, 0xff]],
    ["Compact<u32>", [1, 0]], // a longer form than needed
    ["RuntimeCall", [200, 0]],
    ["MultiAddress", [9]],
  ];
  for (const [type, bytes] of refused) {
    assertThrows(() => scale.decode(type, Uint8Array.from(bytes)), ScaleError, "must", `${type} ${bytes}`);
  }
});

Deno.test("Storage keys: hashes are those of another implementation, for inputs of every length", () => {
  for (let length = 0; length < 100; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => i * 7 + length);
    assertEquals(twox64(bytes).toHex(), xxhashAsU8a(bytes, 64, true).toHex());
    assertEquals(twox128(bytes).toHex(), xxhashAsU8a(bytes, 128, true).toHex());
  }
});

Deno.test("Storage keys: every item has the key that another implementation gives it, and reads back", () => {
  const { registry, metadata } = registryOf(15);
  const problems = storageKeyProblems(registry, metadata);
  assertEquals(problems, []);
});

Deno.test("Storage keys: a key with a wrong hash or a wrong length is rejected", () => {
  const { storageKeys } = runtimeOf(surface);
  const key = storageKeys.build(storageKeys.entry("SubtensorModule.RevealPeriodEpochs")!, [9]);
  assert(storageKeys.read(key) !== null);
  assertEquals(storageKeys.read(key.with(33, key[33]! ^ 1)), null);
  assertEquals(storageKeys.read(key.subarray(0, key.length - 1)), null);
  assertEquals(storageKeys.read(Uint8Array.from([...key, 0])), null);
  assertEquals(storageKeys.read(new Uint8Array(0)), null);
});

const realMetadata = Deno.env.get("IOTA_SUBTENSOR_METADATA");
const noMetadata = realMetadata === undefined ? "IOTA_SUBTENSOR_METADATA names no file" : null;

testWhere(
  noMetadata,
  "Surface: calls, storage keys, types, errors and functions equal the real chain's metadata",
  () => {
    const bytes = Deno.readFileSync(realMetadata!);
    const legacy = runtimeSurface({ epochs: "legacy", blockMs: 12_000 });
    const { problems, compared } = metadataProblems(plainMetadata(metadataOf(legacy, 15)), plainMetadata(bytes));
    assertEquals(problems, []);
    const registry = new TypeRegistry();
    const metadata = new Metadata(registry, bytes);
    registry.setMetadata(metadata);
    assertEquals(storageKeyProblems(registry, metadata), []);
    let calls = 0;
    for (const pallet of legacy.pallets) {
      for (const call of pallet.calls) {
        const values = call.args.map(([, type], i) => sampleValue(typesOf(legacy), { type, seed: i + 1 }));
        const value = values.length === 1 ? values[0] : values;
        const encoded = scale.encode("RuntimeCall", { type: pallet.name, value: { type: call.name, value } });
        const theirs = registry.createType("Call", encoded);
        assertEquals(theirs.toU8a().toHex(), encoded.toHex(), call.name);
        assertEquals(registry.findMetaCall(encoded.subarray(0, 2)).meta.name.toString(), call.name);
        calls++;
      }
    }
    console.log(`compared ${compared} declarations and ${calls} calls with the real metadata`);
  },
);

/** Items whose key is another one under this metadata, which may lack those that later versions added. */
function storageKeyProblems(registry: TypeRegistry, metadata: Metadata): string[] {
  const { storageKeys } = runtimeOf(surface);
  const query = expandMetadata(registry, metadata).query;
  const lower = (name: string) => name.charAt(0).toLowerCase() + name.slice(1);
  return storageKeys.entries.filter((entry) => {
    const [pallet, item] = entry.name.split(".") as [string, string];
    const theirs = query[lower(pallet)]?.[/^[A-Z]{2,}$/.test(item) ? item.toLowerCase() : lower(item)];
    if (theirs === undefined) return !/EpochBlock|EpochAt|EpochIndex|FactorMilli|LockShare|EpochConsensus/.test(item);
    const keys = entry.item.keys.map(({ type }, i) => sampleValue(typesOf(surface), { type, seed: i + 3 }));
    const key = storageKeys.build(entry, keys);
    const read = storageKeys.read(key);
    const isReadBack = read !== null && storageKeys.build(read.entry, read.keys).toHex() === key.toHex();
    // their functions prefix the key with its length
    return !isReadBack || theirs(...keys).toHex().slice(-key.length * 2) !== key.toHex();
  }).map(({ name }) => name);
}
