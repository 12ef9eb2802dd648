/** Requests that a ticket's secret proves: they cost no signature, and what does not prove is signed or refused. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { MemoryBlobs } from "../../../net/blob_memory.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { LinkSecret } from "../../../net/link_secret.ts";
import type { HeldTicket } from "../../../net/ticket.ts";
import { patterned } from "../../conformance/transport_world.ts";
import { BlobWorld } from "../../support/blob_world.ts";
import { testSigner } from "../../support/test_keys.ts";
import { testTickets } from "../../support/test_tickets.ts";

const bytes = patterned(10, 1);
const hash = hashOf(bytes);
const path = `/blobs/${hash}`;

function createWorld() {
  const world = new BlobWorld({
    store: new MemoryBlobs({ blobBytes: 1000, capacityBytes: 4000 }),
    blobBytes: 1000,
  });
  let signatures = 0;
  const signer = {
    address: world.node.address,
    sign: (message: Uint8Array) => {
      signatures++;
      return world.node.sign(message);
    },
  };
  const client = (ticket: HeldTicket) => world.client({ authorize: world.authorize({ signer, ticket }) });
  return { world, client, signatures: () => signatures };
}

Deno.test("Requests: with a ticket they cost no signature", async () => {
  const { world, client, signatures } = createWorld();
  const blobs = client(world.ticketOf(world.node.address));
  await blobs.put(bytes);
  assertEquals(await blobs.get(hash), bytes);
  assertEquals(signatures(), 0);
});

Deno.test("Requests: a ticket that is refused is followed by a signature, body and all", async () => {
  const { world, client, signatures } = createWorld();
  const { hub } = world.ticketOf(world.node.address);
  const foreign = world.ticketOf(world.node.address, testTickets({ hub, timers: world.timers, keySeed: 2 }));
  await client(foreign).put(bytes);
  assertEquals(signatures(), 1);
  const held = world.ticketOf(world.node.address);
  await client({ ...held, secret: new LinkSecret(new Uint8Array(32)) }).get(hash);
  assertEquals(signatures(), 2);
  world.timers.advance(defaultNetLimits.ticketMs + 1);
  assertEquals(await client(held).get(hash), bytes);
  assertEquals(signatures(), 3);
});

Deno.test("Requests: a ticket proves one method, path and body, for its node, once", async () => {
  const { world } = createWorld();
  const ticket = world.ticketOf(world.node.address);
  const authorize = world.authorize({ ticket });
  const ask = async (method: string, headers: Record<string, string>, at = path) => {
    const body = method === "PUT" ? { body: bytes } : {};
    const response = await world.app.request(at, { method, headers, ...body });
    return { status: response.status, text: await response.text() };
  };
  const put = authorize({ method: "PUT", path, bodyHash: hash });
  assertEquals((await ask("GET", put)).status, 401, "another method");
  assertEquals((await ask("PUT", put)).status, 201);
  const replay = await ask("PUT", put);
  assertEquals(replay.status, 401);
  assertStringIncludes(replay.text, "nonce must be new");

  const get = () => authorize({ method: "GET", path, bodyHash: "" });
  assertEquals((await ask("GET", get(), `${path}/leaves`)).status, 401, "another path");
  const { "iota-mac": _, ...unproven } = get();
  assertEquals((await ask("GET", unproven)).status, 401, "a ticket alone");
  assertEquals((await ask("GET", { ...get(), "iota-time": String(world.timers.nowMs() + 1) })).status, 401);
  assertEquals((await ask("GET", { ...get(), "iota-ticket": "00".repeat(69) })).status, 401);
  assertEquals((await ask("GET", { ...get(), "iota-ticket": "zz" })).status, 401);
  const other = testSigner(2).address;
  world.admitted.add(other);
  assertEquals((await ask("GET", { ...get(), "iota-node": other })).status, 401, "another node's ticket");
  assertEquals((await ask("GET", get())).status, 200);
});

Deno.test("Requests: a ticket does not admit", async () => {
  const { world } = createWorld();
  const headers = world.authorize({ ticket: world.ticketOf(world.node.address) })({
    method: "GET",
    path,
    bodyHash: "",
  });
  world.admitted.clear();
  assertEquals((await world.app.request(path, { headers })).status, 403);
});
