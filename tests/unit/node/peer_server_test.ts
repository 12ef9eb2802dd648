/** A miner's own port: a newcomer copies a vector from it, checked leaf by leaf, and falls back to the orchestrator's store. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { blobAccess } from "../../../cli/roles/blob_access.ts";
import { openPeerServer } from "../../../cli/node/peer_server.ts";
import { HttpBlobs } from "../../../net/blobs/blob_http.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { createPass, showPass } from "../../../net/auth/peer_pass.ts";
import { createAuthorize } from "../../../net/auth/request_auth.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";

const self = testSigner(1).address;
const hub = testSigner(3);
const blobBytes = defaultNetLimits.blobBytes;

function serve(listen = "127.0.0.1:0", publicUrl?: string) {
  return openPeerServer({
    listen,
    publicUrl,
    self,
    verify: testVerify,
    limits: defaultNetLimits,
    timers: systemTimers,
    onError: (error) => {
      throw error;
    },
  });
}

Deno.test("Peer server: a newcomer copies a stage from a peer although the orchestrator's store does not have it", async () => {
  const vector = new Uint8Array(3 * 2 ** 20 + 64).map((_, i) => i * 7);
  const problems: string[] = [];
  const by = { signer: testSigner(2), timers: systemTimers, random: systemRandom };
  const blobs = blobAccess(new MemoryBlobs({ blobBytes, capacityBytes: blobBytes }), {
    open: ({ node, url, pass }) =>
      new HttpBlobs({
        url,
        authorize: showPass(createAuthorize({ ...by, receiver: node }), pass),
        blobBytes,
        timers: systemTimers,
        random: systemRandom,
        attempts: 1,
      }),
    blobBytes,
    timers: systemTimers,
    onProblem: ({ source }) => problems.push(source),
  });
  const elsewhere = new MemoryBlobs({ blobBytes, capacityBytes: blobBytes });
  const ref = await elsewhere.put(vector);
  const peer = await serve();
  try {
    peer.hold([vector]);
    await assertRejects(() => blobs.get(ref)); // without the peer
    const terms = { reader: by.signer.address, blobs: [ref.hash], untilMs: systemTimers.nowMs() + 60_000 };
    const from = [{ node: self, url: peer.url, pass: createPass(terms, { run: "local", signer: hub }) }];
    await assertRejects(() => blobs.get(ref, { peers: from })); // it does not know its orchestrator yet
    peer.trust({ run: "local", hub: hub.address });
    problems.length = 0;
    assertEquals(await blobs.get(ref, { peers: from }), vector);
    assertEquals(problems, []);
  } finally {
    await peer.close();
  }
});

Deno.test("Peer server: an unreachable or missing address is rejected with a next step", async () => {
  const unreachable = await assertRejects(() => serve("0.0.0.0:0"), Error, "cannot reach it");
  assert(unreachable instanceof Error);
  await assertRejects(() => serve("9010"), Error, "--listen must be HOST:PORT");
  const announced = await serve("127.0.0.1:0", "http://203.0.113.7:9010");
  assertEquals(announced.url, "http://203.0.113.7:9010");
  await announced.close();
});

Deno.test("Peer server: its port refuses sockets", async () => {
  const peer = await serve();
  try {
    const socket = new WebSocket(peer.url.replace("http", "ws"));
    const closed = await new Promise<CloseEvent>((resolve) => socket.onclose = resolve);
    assertEquals(closed.reason, "this port serves only blobs");
  } finally {
    await peer.close();
  }
});
