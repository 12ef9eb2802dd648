/** A node's own blob port: which requests it answers, how often, what it holds, and a fetch from two such nodes. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { blobHash, type NodeId } from "../../../core/ids.ts";
import { fetchBlob } from "../../../net/blobs/blob_fetch.ts";
import { leafBytes, refOf } from "../../../net/blob_hash.ts";
import { HttpBlobs } from "../../../net/blobs/blob_http.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { PeerBlobs } from "../../../net/peer_blobs.ts";
import { listen } from "../../../net/server.ts";
import { createPass, type PassTerms, showPass } from "../../../net/auth/peer_pass.ts";
import { createAuthorize } from "../../../net/auth/request_auth.ts";
import { assertProblem } from "../../conformance/blobs_suite.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { sourceOf } from "../../support/net/scripted_source.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";
import { varied } from "../../support/net/varied_bytes.ts";

const limits = { ...defaultNetLimits, blobBytes: 10_000_000, peerRequestsPerSecond: 20 };
const self = testSigner(200).address;
const hub = testSigner(100);
const vectors = [varied(3 * leafBytes + 40, 1), varied(5_000, 2)];

class PeerWorld {
  readonly timers = new ManualTimers();
  readonly store = new MemoryBlobs({ blobBytes: limits.blobBytes, capacityBytes: 2 * limits.blobBytes });
  readonly errors: Error[] = [];
  readonly peer = new PeerBlobs({
    ...{ self, store: this.store, verify: testVerify, limits, timers: this.timers },
    onError: (error) => this.errors.push(error),
  });

  constructor() {
    this.peer.trust({ run: "test", hub: hub.address });
  }

  /** For the vectors that most tests hold; of the orchestrator that the peer trusts, unless another one signs. */
  pass(terms: Partial<PassTerms> = {}, by = { run: "test", signer: hub }): string {
    const untilMs = this.timers.nowMs() + 60_000;
    const blobs = vectors.map((bytes) => refOf(bytes).hash);
    return createPass({ reader: testSigner(1).address, blobs, untilMs, ...terms }, by);
  }

  client(options: { seed?: number; receiver?: NodeId; url?: string; pass?: string | null } = {}): HttpBlobs {
    const { seed = 1, url, receiver = self } = options;
    const { pass = this.pass({ reader: testSigner(seed).address }) } = options;
    const random = countingRandom(seed);
    return new HttpBlobs({
      url: url ?? "http://peer",
      ...{ blobBytes: limits.blobBytes, timers: this.timers, random, attempts: 1 },
      authorize: showPass(
        createAuthorize({ receiver, signer: testSigner(seed), timers: this.timers, random }),
        pass,
      ),
      ...url === undefined ? { fetch: (to: string, init: RequestInit) => this.peer.fetch(new Request(to, init)) } : {},
    });
  }
}

Deno.test("Peer blobs: a node with the orchestrator's pass that signs for this one can read, none can write", async () => {
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
  assertStringIncludes(await assertProblem(() => elsewhere.get(refs[0]!.hash), "refused"), "its receiver is");
  const path = `/blobs/${refs[0]!.hash}`;
  for (const part of ["", "/leaves", "/upload"]) {
    assertEquals((await world.peer.fetch(new Request(`http://peer${path}${part}`))).status, 401);
  }
  const unknown = await world.peer.fetch(new Request("http://peer/status"));
  assertStringIncludes(await unknown.text(), "try /blobs");
  assertEquals(world.errors, []);
});

Deno.test("Peer blobs: a pass is valid only for its reader and blobs, until its expiry, from the node's own orchestrator", async () => {
  const world = new PeerWorld();
  const [first, second] = await world.peer.hold(vectors);
  const other = testSigner(2).address;
  const wrong: Readonly<Record<string, string | null>> = {
    none: null,
    "of another reader": world.pass({ reader: other }),
    "for another blob": world.pass({ blobs: [second!.hash] }),
    "of another run": world.pass({}, { run: "other", signer: hub }),
    "by another orchestrator": world.pass({}, { run: "test", signer: testSigner(7) }),
    "of the past": world.pass({ untilMs: world.timers.nowMs() - limits.clockSkewMs - 1 }),
    "with more blobs than were signed": world.pass({ blobs: [second!.hash] })
      .replace(`.${second!.hash}`, `.${second!.hash}.${first!.hash}`),
    "that is none": "1.2.3",
  };
  for (const [name, pass] of Object.entries(wrong)) {
    world.timers.advance(200); // new nonces, and requests a second to make
    const reader = world.client({ pass });
    assertStringIncludes(await assertProblem(() => reader.get(first!.hash), "refused"), "work does not need it", name);
    await assertProblem(() => reader.leaves(first!.hash), "refused");
  }
  world.timers.advance(200);
  const stranger = world.client({ pass: null });
  const unheld = "ab".repeat(32);
  const answers = await Promise.all(
    [first!.hash, blobHash(unheld)].map((hash) =>
      assertProblem(() => stranger.get(hash), "refused").then((text) => text.replaceAll(hash, ""))
    ),
  );
  assertEquals(answers[0], answers[1]); // nothing reveals what is stored
  world.timers.advance(1_000); // its requests a second
  assertEquals(await world.client().get(first!.hash), vectors[0]);
});

Deno.test("Peer blobs: the next round's vectors replace the last ones, what stayed the same is kept", async () => {
  const world = new PeerWorld();
  const [old, same] = await world.peer.hold(vectors);
  const [next] = await world.peer.hold([varied(6_000, 4), vectors[1]!]);
  assertEquals(await world.store.find(old!.hash), null);
  assertEquals(await world.store.find(same!.hash), same);
  const pass = world.pass({ blobs: [next!.hash] });
  assertEquals(await world.client({ pass }).get(next!.hash), varied(6_000, 4));
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

Deno.test("Peer blobs: a blob comes from two nodes' ports at once", async () => {
  const worlds = [new PeerWorld(), new PeerWorld()];
  for (const world of worlds) await world.peer.hold(vectors);
  const at = { host: "127.0.0.1", port: 0, limits };
  const noSocket = { accept: () => ({ frame: () => {}, closed: () => {} }) };
  const listeners = await Promise.all(
    worlds.map(({ peer }) => listen({ ...at, ...noSocket, fetch: (request, trust) => peer.fetch(request, trust) })),
  );
  const ref = refOf(vectors[0]!);
  const sources = listeners.map(({ url }, index) => sourceOf(url, worlds[index]!.client({ url })));
  const { timers } = worlds[0]!;
  const onProblem = () => {};
  const options = { ref, sources, concurrency: 4, blobBytes: limits.blobBytes, timers, onProblem };
  assertEquals(await fetchBlob(options), vectors[0]);
  for (const listener of listeners) await listener.close();
});
