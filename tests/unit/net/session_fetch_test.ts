/** Blobs after a change of address: connections of the session before are dropped, not waited for. */

import { assertEquals, assertRejects } from "@std/assert";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { type Connections, SessionFetch } from "../../../net/blobs/session_fetch.ts";
import { BlobWorld } from "../../support/net/blob_world.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { Outbound } from "../../../net/proxy/outbound.ts";
import { fakeServer } from "../../support/net/fake_server.ts";

/** The first connections have been dead since they were opened; later ones lead to the store. */
function changedAddress(reach: (url: string, init: RequestInit) => Promise<Response> | Response) {
  let opened = 0, closed = 0, waiting = 0;
  const open = (): Connections => {
    const isDead = opened++ === 0;
    const dead = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        waiting += 1;
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    return {
      fetch: async (url, init) => isDead ? await dead(init.signal!) : await reach(url, init),
      close: () => closed += 1,
    };
  };
  return { session: new SessionFetch(open), counts: () => ({ opened, closed, waiting }) };
}

Deno.test("Session fetch: a new session drops requests on the old connections, and they are made again at once", async () => {
  const blobBytes = 1 << 16;
  const store = new MemoryBlobs({ blobBytes, capacityBytes: 4 * blobBytes });
  const world = new BlobWorld({ store, blobBytes });
  const { hash } = await store.put(varied(1000, 1));
  const { session, counts } = changedAddress((url, init) => world.app.fetch(new Request(url, init)));
  const client = world.client({ fetch: session.fetch });
  const got = client.get(hash);
  while (counts().waiting === 0) await Promise.resolve();
  session.begin();
  for (let i = 0; i < 100; i++) await Promise.resolve();
  world.timers.advance(250); // the first retry; a silent connection takes 30 s
  assertEquals(await got, varied(1000, 1));
  assertEquals(counts(), { opened: 2, closed: 1, waiting: 1 });
});

Deno.test("Session fetch: a request is also ended by its own signal, and the session goes on", async () => {
  const { session, counts } = changedAddress(() => new Response());
  const abort = new AbortController();
  const request = session.fetch("http://localhost", { signal: abort.signal });
  abort.abort(new Error("late"));
  await assertRejects(() => request, Error, "late");
  session.begin();
  session.begin(); // nothing is open
  assertEquals((await session.fetch("http://localhost", {})).status, 200);
  assertEquals(counts(), { opened: 2, closed: 1, waiting: 1 });
});

Deno.test("Session fetch: the runtime's own connections are opened and closed with it", async () => {
  await using server = await fakeServer(() => new Response("here"));
  const session = new SessionFetch(() => new Outbound({ get: () => undefined }).connections());
  for (let i = 0; i < 2; i++) {
    session.begin();
    assertEquals(await (await session.fetch(server.url, {})).text(), "here");
  }
  session.begin();
});
