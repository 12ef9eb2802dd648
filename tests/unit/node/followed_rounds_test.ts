/** Where a validator's parameters come from: the last round's and a merge's slices, a miner's change, or the store. */

import { assertEquals, assertRejects } from "@std/assert";
import { HeldStages } from "../../../cli/node/stages/held_stages.ts";
import { formSlice } from "../../../cli/node/stages/merge_work.ts";
import type { BlobRef } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { encodeChange } from "../../../core/update/shown_change.ts";
import { fillInitial } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import type { ReplaySource } from "../../../core/protocol/message.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { noEmbeddings } from "../../support/no_embeddings.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig({ outer: { learningRate: 1, momentum: 0, payload: "int8" } });
const spec = stageSpecs(config, splitLayers(config))[1]!;
const table = parameterTable(spec);
const start = new Float32Array(table.length);
fillInitial(table, { seed: config.seed, first: 0 }, start);
const trained = start.map((value, i) => value + 0.01 * Math.sin(i));

/** Blobs that note what is read. */
class NotedBlobs {
  readonly held = new Map<string, Uint8Array>();
  readonly read: string[] = [];

  put(bytes: Uint8Array): Promise<BlobRef> {
    const ref = refOf(bytes);
    this.held.set(ref.hash, bytes.slice());
    return Promise.resolve(ref);
  }

  get({ hash }: BlobRef): Promise<Uint8Array> {
    this.read.push(hash);
    const bytes = this.held.get(hash);
    return bytes === undefined
      ? Promise.reject(new BlobError("missing", `no blob ${hash}`))
      : Promise.resolve(bytes.slice());
  }
}

async function setUp() {
  const blobs = new NotedBlobs();
  const codec = payloadCodecOf(config);
  const slice = await formSlice(codec, { start, current: trained.slice(), residual: null, embeddings: noEmbeddings });
  const average = atOnce(codec.decodeResult(slice.slice(), table.length))!;
  const merged = start.map((value, i) => Math.fround(value - average[i]!));
  const slices = [await blobs.put(slice)];
  const parameters = await blobs.put(bytesOfFloats(merged));
  const stages = new HeldStages({ device: referenceHost(), blobs });
  const at = async (
    source: ReplaySource,
  ) => (await (await stages.at(spec, { config, source })).compute.readParameters());
  const source = { type: "blobs", parameters, momentum: null, merge: { from: "initial", slices } } as const;
  return { blobs, merged, slices, source, at };
}

Deno.test("Followed rounds: whoever has the last round's parameters reads the merge's slices alone", async () => {
  const { blobs, merged, slices, source, at } = await setUp();
  assertEquals(await at({ type: "initial" }), start);
  assertEquals(await at(source), merged);
  assertEquals(blobs.read, slices.map(({ hash }) => hash));
});

Deno.test("Followed rounds: without them, or with slices that lead elsewhere or nowhere, the parameters are fetched", async () => {
  const fresh = await setUp();
  assertEquals(await fresh.at(fresh.source), fresh.merged);
  assertEquals(fresh.blobs.read, [fresh.source.parameters.hash]);
  for (const damage of ["other", "gone", "unreadable"]) {
    const { blobs, merged, slices, source, at } = await setUp();
    const [slice] = slices;
    if (damage === "other") blobs.held.get(slice!.hash)![10]! ^= 1;
    if (damage === "gone") blobs.held.delete(slice!.hash);
    if (damage === "unreadable") blobs.held.set(slice!.hash, new Uint8Array(3));
    await at({ type: "initial" });
    assertEquals(await at(source), merged, damage);
    assertEquals(blobs.read, [slice!.hash, source.parameters.hash]);
  }
});

Deno.test("Followed rounds: a miner's change is applied to its round's start, which is read once", async () => {
  const { blobs, merged, source, at } = await setUp();
  const later = merged.map((value, i) => value + 0.001 * Math.cos(i));
  const change = await blobs.put(atOnce(encodeChange(merged, later)));
  const shown = await at({ type: "moved", from: source, change });
  assertEquals(shown.every((value, i) => Math.abs(value - later[i]!) < 1e-7), true);
  assertEquals(await at(source), merged, "the start is as it was");
  assertEquals(blobs.read, [source.parameters.hash, change.hash]);
  const other = await blobs.put(new Uint8Array(130));
  await assertRejects(
    () => at({ type: "moved", from: source, change: other }),
    BlobError,
    "is not a change of its stage",
  );
});
