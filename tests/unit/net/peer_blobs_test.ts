/** A node's own blob port: whom it answers, how often, what it holds, and a fetch from two such nodes. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { NodeId } from "../../../core/ids.ts";
import { fetchBlob } from "../../../net/blob_fetch.ts";
import { leafBytes, refOf } from "../../../net/blob_hash.ts";
import { HttpBlobs } from "../../../net/blob_http.ts";
import { MemoryBlobs } from "../../../net/blob_memory.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { listenForPeers, PeerBlobs } from "../../../net/peer_blobs.ts";
import { createAuthorize } from "../../../net/request_auth.ts";
import { assertProblem } from "../../conformance/blobs_suite.ts";
import { countingRandom, ManualTimers } from "../../support/manual_timers.ts";
import { sourceOf } from "../../support/scripted_source.ts";
import { testSigner, testVerify } from "../../support/test_keys.ts";
import { varied } from "../../support/varied_bytes.ts";

const limits = { ...defaultNetLimits, blobBytes: 10_000_000, peerRequestsPerSecond: 20 };
const self = testSigner(200).address;
const vectors = [varied(3 * leafBytes + 40, 1), varied(5_000, 2)];

class PeerWorld {
  readonly timers = new ManualTimers();
  readonly store = new MemoryBlobs({ blobBytes: limits.blobBytes, capacityBytes: 2 * limits.blobBytes });
  readonly errors: Error[] = [];
  readonly peer = new PeerBlobs({
    ...{ self, store: this.store, verify: testVerify, limits, timers: this.timers },
    onError: (error) => this.errors.push(error),
  });

  client(options: { seed?: number; receiver?: NodeId; url?: string } = {}): HttpBlobs {
    const { seed = 1, url, receiver = self } = options;
    const random = countingRandom(seed);
    return new HttpBlobs({
      url: url ?? "http://peer",
      ...{ blobBytes: limits.blobBytes, timers: this.timers, random, attempts: 1 },
      authorize: createAuthorize({ receiver, signer: testSigner(seed), timers: this.timers, random }),
      ...url === undefined ? { fetch: (to: string, init: RequestInit) => this.peer.fetch(new Request(to, init)) } : {},
    });
  }
}

Deno.test("Peer blobs: any node that signs for this one reads, nobody writes", async () => {
  const world = new PeerWorld();
  const refs = await world.peer.hold(vectors);
  assertEquals(refs, vectors.map(refOf));
  const client = world.client();
  assertEquals(await client.get(refs[0]!.hash), vectors[0]);
  assertEquals((await client.leaves(refs[0]!.hash))!.length, 4);
  assertEquals(await client.find(refs[1]!.hash), refs[1]);
  await assertProblem(() => client.put(varied(10, 3)), "missing");
  assertEquals(world.store.usage().blobs, 2);
  const elsewhere = world.client({ receiver: testSigner(201).address, seed: 3 });
  assertStringIncludes(await assertProblem(() => elsewhere.get(refs[0]!.hash), "refused"), "receiver must be");
  const path = `/blobs/${refs[0]!.hash}`;
  for (const part of ["", "/leaves", "/upload"]) {
    assertEquals((await world.peer.fetch(new Request(`http://peer${path}${part}`))).status, 401);
  }
  const unknown = await world.peer.fetch(new Request("http://peer/status"));
  assertStringIncludes(await unknown.text(), "try /blobs");
  assertEquals(world.errors, []);
});

Deno.test("Peer blobs: the next round's vectors replace the last ones, what stayed the same is kept", async () => {
  const world = new PeerWorld();
  const [old, same] = await world.peer.hold(vectors);
  const [next] = await world.peer.hold([varied(6_000, 4), vectors[1]!]);
  assertEquals(await world.store.find(old!.hash), null);
  assertEquals(await world.store.find(same!.hash), same);
  assertEquals(await world.client().get(next!.hash), varied(6_000, 4));
  assertEquals(await world.peer.hold([]), []);
  assertEquals(world.store.usage(), { blobs: 0, bytes: 0 });
});

Deno.test("Peer blobs: more requests a second than it has are refused, unsigned ones do not count", async () => {
  const world = new PeerWorld();
  const [ref] = await world.peer.hold([vectors[1]!]);
  for (let request = 0; request < 100; request++) {
    await world.peer.fetch(new Request(`http://peer/blobs/${ref!.hash}`));
  }
  const clients = [world.client({ seed: 1 }), world.client({ seed: 2 })];
  for (let request = 0; request < 20; request++) await clients[request % 2]!.find(ref!.hash);
  const message = await assertProblem(() => clients[0]!.get(ref!.hash), "unreachable");
  assertStringIncludes(message, "answers as many requests as it can; ask another");
  world.timers.advance(100); // a tenth of a second: two more
  await clients[0]!.find(ref!.hash);
  await clients[1]!.find(ref!.hash);
  await assertProblem(() => clients[1]!.get(ref!.hash), "unreachable");
});

Deno.test("Peer blobs: a blob comes from two nodes' ports at once, and they refuse sockets", async () => {
  const worlds = [new PeerWorld(), new PeerWorld()];
  for (const world of worlds) await world.peer.hold(vectors);
  const at = { host: "127.0.0.1", port: 0, limits };
  const listeners = await Promise.all(worlds.map((world) => listenForPeers(world.peer, at)));
  const ref = refOf(vectors[0]!);
  const sources = listeners.map(({ url }, index) => sourceOf(url, worlds[index]!.client({ url })));
  const { timers } = worlds[0]!;
  const onProblem = () => {};
  const options = { ref, sources, concurrency: 4, blobBytes: limits.blobBytes, timers, onProblem };
  assertEquals(await fetchBlob(options), vectors[0]);
  const socket = new WebSocket(listeners[0]!.url.replace("http", "ws"));
  const closed = await new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
  assertEquals(closed.reason, "this port hands out blobs only");
  for (const listener of listeners) await listener.close();
});
