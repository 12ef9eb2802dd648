/** The accounting of members' quotas: what is charged, reserved, released and reported. */

import { assertEquals, assertThrows } from "@std/assert";
import { storeAllowance } from "../../../core/update/payload/allowance.ts";
import { payloadCodecs } from "../../../core/update/payload/payload_codecs.ts";
import { mostSlicesOf, sliceLayout } from "../../../core/update/butterfly.ts";
import type { BlobRef, NodeId } from "../../../core/ids.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { BlobQuota, type QuotaLimits } from "../../../net/blobs/blob_quota.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner } from "../../support/net/test_keys.ts";

const [one, two] = [testSigner(1).address, testSigner(2).address];
const refOf = (seed: number, bytes: number): BlobRef => ({ hash: hashOf(Uint8Array.of(seed)), bytes });

class World {
  readonly timers = new ManualTimers();
  readonly told: NodeId[] = [];
  storedBytes = 0;
  readonly quota: BlobQuota;

  constructor(limits: Partial<QuotaLimits> = {}) {
    this.quota = new BlobQuota({
      limits: { blobBytes: 100, bytesOfNode: 250, blobsOfNode: 3, capacityBytes: 1_000, ...limits },
      storedBytes: () => this.storedBytes,
      onExceeded: (node) => this.told.push(node),
      timers: this.timers,
    });
  }

  store(node: NodeId, ref: BlobRef): void {
    const place = this.quota.reserve(node, ref.bytes);
    place.arrived(ref.bytes);
    place.stored(ref);
    place.close();
    this.storedBytes += ref.bytes;
  }

  refusal(body: () => unknown): string {
    const error = assertThrows(body, BlobError);
    return error.code;
  }
}

Deno.test("Blob quota: bytes and blobs of a node are bounded, and another node has its own", () => {
  const world = new World();
  world.store(one, refOf(1, 100));
  world.store(one, refOf(2, 100));
  assertEquals(world.refusal(() => world.quota.reserve(one, 51)), "noSpace");
  world.store(one, refOf(3, 50));
  assertEquals(world.refusal(() => world.quota.reserve(one, 0)), "noSpace");
  assertEquals(world.quota.usage(one), { bytes: 250, blobs: 3 });
  world.store(two, refOf(4, 100));
  assertEquals(world.quota.usage(two), { bytes: 100, blobs: 1 });
});

Deno.test("Blob quota: what arrives is reserved before it is stored, and given back when it never is", () => {
  const { quota, refusal } = new World();
  const first = quota.reserve(one, 100);
  const second = quota.reserve(one, 0);
  for (let i = 0; i < 10; i++) second.arrived(10);
  assertEquals(quota.usage(one), { bytes: 200, blobs: 2 });
  assertEquals(refusal(() => second.arrived(1)), "tooLarge");
  const third = quota.reserve(one, 0);
  assertEquals(refusal(() => third.arrived(51)), "noSpace");
  for (const each of [first, second, third, third]) each.close();
  assertEquals(quota.usage(one), { bytes: 0, blobs: 0 });
});

Deno.test("Blob quota: a blob counts until it is deleted or needed, once, and against the node that stored it first", () => {
  const world = new World();
  const { quota } = world;
  const [first, second] = [refOf(1, 60), refOf(2, 70)];
  const late = quota.reserve(two, 60); // both send the same bytes at once
  world.store(one, first);
  late.stored(first);
  assertEquals([quota.usage(one).bytes, quota.usage(two).bytes], [60, 0]);
  world.store(one, second);
  quota.needed(new Set([second.hash]));
  assertEquals(quota.usage(one), { bytes: 60, blobs: 1 });
  quota.deleted(second.hash);
  quota.deleted(first.hash);
  quota.deleted(first.hash);
  assertEquals(quota.usage(one), { bytes: 0, blobs: 0 });
});

Deno.test("Blob quota: all members together stop at their share of the store, and none is blamed", () => {
  const world = new World({ capacityBytes: 200 });
  world.store(one, refOf(1, 100));
  const place = world.quota.reserve(two, 90);
  assertEquals(world.refusal(() => world.quota.reserve(two, 11)), "noSpace");
  place.close();
  world.quota.reserve(two, 100).close();
  assertEquals(world.told, []);
});

Deno.test("Blob quota: an offender is reported once a second, separately from others", () => {
  const { quota, timers, told } = new World();
  for (let i = 0; i < 20; i++) {
    assertThrows(() => quota.reserve(one, 101));
    assertThrows(() => quota.reserve(two, 101));
    timers.advance(100);
  }
  assertEquals(told, [one, two, one, two]);
});

Deno.test("Store allowance: it is twice what one round of an honest miner takes, of the largest stage", () => {
  const { blobBytes, bytes, blobs } = storeAllowance([640, 6_400, 1_280], {
    codec: payloadCodecs.float32,
    states: 3,
  });
  assertEquals([blobBytes, bytes, blobs], [25_600, 2 * (4 * 25_600 + 3 * 130 * 100), 2 * (2 * 100 + 2 + 3)]);
});

Deno.test("Store allowance: no layout has more slices than counted", () => {
  for (const length of [64, 6_400, 64 * 1_000, 2 ** 24, 2 ** 26 + 64, 5 * 2 ** 26]) {
    for (const contributors of [1, 2, 3, 8, 22, 23, 24, 64, 500]) {
      const { length: slices } = sliceLayout({ length, contributors });
      assertEquals(slices <= mostSlicesOf(length), true, `${slices} slices of ${length} for ${contributors}`);
    }
  }
});
