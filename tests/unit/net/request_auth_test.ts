/** Requests to an orchestrator: proven by signature or by a ticket's secret, for one receiver, method, path and body, once. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import { signBtauth } from "../../../net/auth/btauth.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import { LinkSecret } from "../../../net/auth/link_secret.ts";
import { createAuthorize, RequestGate } from "../../../net/auth/request_auth.ts";
import { emptyBodyHash } from "../../../net/auth/signed_headers.ts";
import type { HeldTicket } from "../../../net/auth/ticket.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { BlobWorld } from "../../support/net/blob_world.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testTickets } from "../../support/net/test_tickets.ts";

const bytes = varied(10, 1);
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
  const put = authorize({ method: "PUT", target: path, bodyHash: hash });
  assertEquals((await ask("GET", put)).status, 401, "another method");
  assertEquals((await ask("PUT", put)).status, 201);
  const replay = await ask("PUT", put);
  assertEquals(replay.status, 401);
  assertStringIncludes(replay.text, "nonce was already used");

  const get = () => authorize({ method: "GET", target: path, bodyHash: emptyBodyHash });
  assertEquals((await ask("GET", get(), `${path}/leaves`)).status, 401, "another path");
  const { "iota-mac": _, ...unproven } = get();
  assertEquals((await ask("GET", unproven)).status, 401, "a ticket alone");
  assertEquals((await ask("GET", { ...get(), "X-Bittensor-Nonce": `${world.timers.nowMs()}999999` })).status, 401);
  assertEquals((await ask("GET", { ...get(), "iota-ticket": "00".repeat(69) })).status, 401);
  assertEquals((await ask("GET", { ...get(), "iota-ticket": "zz" })).status, 401);
  const other = testSigner(2).address;
  world.admitted.add(other);
  assertEquals((await ask("GET", { ...get(), "X-Bittensor-Hotkey": other })).status, 401, "another node's ticket");
  assertEquals((await ask("GET", get())).status, 200);
});

Deno.test("Requests: a ticket does not admit", async () => {
  const { world } = createWorld();
  const headers = world.authorize({ ticket: world.ticketOf(world.node.address) })({
    method: "GET",
    target: path,
    bodyHash: emptyBodyHash,
  });
  world.admitted.clear();
  assertEquals((await world.app.request(path, { headers })).status, 403);
});

/** A gate that counts the signatures it checks, asked by a miner. */
class Gate {
  readonly timers = new ManualTimers();
  readonly miner = testSigner(1);
  readonly self = testSigner(9).address;
  readonly admitted = new Set<NodeId>([this.miner.address]);
  readonly read = { method: "GET", target: path, bodyHash: emptyBodyHash };
  readonly write = { method: "PUT", target: path, bodyHash: hash };
  signaturesChecked = 0;
  readonly gate = new RequestGate({
    self: this.self,
    verify: (signed) => {
      this.signaturesChecked++;
      return testVerify(signed);
    },
    admit: (node) => this.admitted.has(node) ? null : fault("notAdmitted", "Cannot accept a stranger"),
    tickets: null,
    limits: { ...defaultNetLimits, nonces: 3 },
    timers: this.timers,
  });

  authorize({ signer = this.miner, receiver = this.self, seed = 1 } = {}): Record<string, string> {
    return createAuthorize({ signer, receiver, timers: this.timers, random: countingRandom(seed) })(this.read);
  }

  /** "" or why not. */
  check(headers: Record<string, string>, request = this.read): string {
    const answer = this.gate.check(request, new Headers(headers));
    return answer.ok ? "" : answer.fault.detail;
  }
}

Deno.test("Requests: a signature is for one receiver, method, path and body, and for one time", () => {
  const world = new Gate();
  const headers = world.authorize();
  assertStringIncludes(world.check(headers, { ...world.read, method: "HEAD" }), "signature is not");
  assertStringIncludes(world.check(headers, { ...world.read, target: `${path}?x=1` }), "signature is not");
  assertStringIncludes(world.check(headers, world.write), "signature is not");
  assertStringIncludes(world.check(world.authorize({ receiver: world.miner.address })), "its receiver is");
  const { "X-Bittensor-Receiver": _, ...toNobody } = headers;
  assertStringIncludes(world.check(toNobody), "its receiver is not named");
  assertEquals(world.check(headers), "", "what did not prove uses up no nonce");
  assertStringIncludes(world.check(headers), "nonce was already used");
});

Deno.test("Requests: wrong signatures are checked so often and no more, and tickets are taken meanwhile", () => {
  const timers = new ManualTimers();
  const self = testSigner(200).address;
  const miner = testSigner(1);
  const tickets = testTickets({ hub: self, timers });
  let checked = 0;
  const gate = new RequestGate({
    self,
    verify: () => ++checked === 0,
    admit: () => null,
    tickets,
    limits: { ...defaultNetLimits, failedSignaturesPerSecond: 10 },
    timers,
  });
  const read = { method: "GET", target: path, bodyHash: emptyBodyHash };
  const options = { signer: miner, receiver: self, timers, random: countingRandom() };
  const sign = createAuthorize(options);
  const codes = Array.from({ length: 1000 }, () => {
    const answer = gate.check(read, new Headers(sign(read)));
    return answer.ok ? "" : answer.fault.code;
  });
  assertEquals(checked, 10);
  assertEquals([codes[0], codes.at(-1)], ["unauthenticated", "limitExceeded"]);
  const secret = new LinkSecret(countingRandom(3).bytes(32));
  const ticket = tickets.seal({ node: miner.address, role: "miner", secret });
  const show = createAuthorize({ ...options, ticket: { run: "test", hub: self, ticket, secret } });
  assertEquals(gate.check(read, new Headers(show(read))).ok, true);
  timers.advance(1000);
  gate.check(read, new Headers(sign(read)));
  assertEquals(checked, 11);
});

Deno.test("Requests: clocks may differ by 'clockSkewMs' either way, and a nonce is known for as long", () => {
  const world = new Gate();
  const { clockSkewMs } = defaultNetLimits;
  const early = { ...world.read, signer: world.miner, receiver: world.self };
  const at = (offMs: number) =>
    signBtauth(world.read, { ...early, nonceNs: BigInt(world.timers.nowMs() + offMs) * 1_000_000n });
  assertEquals(world.check(at(-clockSkewMs)), "");
  assertStringIncludes(world.check(at(-clockSkewMs - 1)), `at most ${clockSkewMs} ms in the past`);
  const ahead = at(clockSkewMs);
  assertEquals(world.check(ahead), "");
  assertStringIncludes(world.check(at(clockSkewMs + 1)), `at most ${clockSkewMs} ms in the future`);
  world.timers.advance(2 * clockSkewMs);
  assertStringIncludes(world.check(ahead), "nonce was already used");
  world.timers.advance(1);
  assertStringIncludes(world.check(ahead), "in the past");
});

Deno.test("Requests: strangers, late ones and floods cost no signature check, and no node uses up another's nonces", () => {
  const world = new Gate();
  const stranger = testSigner(2);
  assertEquals(world.check(world.authorize({ signer: stranger })), "Cannot accept a stranger");
  world.check(world.authorize({ receiver: stranger.address }));
  assertEquals(world.signaturesChecked, 0);
  const forged = { ...world.authorize({ signer: stranger }), "X-Bittensor-Hotkey": world.miner.address };
  for (let attempt = 0; attempt < 10; attempt++) world.check(forged);
  const nonces = [2, 3, 4].map((seed) => world.authorize({ seed }));
  for (const headers of nonces) assertEquals(world.check(headers), "");
  const { signaturesChecked } = world;
  assertStringIncludes(world.check(world.authorize({ seed: 5 })), "slow down");
  assertStringIncludes(world.check(nonces[0]!), "nonce was already used");
  assertEquals(world.signaturesChecked, signaturesChecked);
  world.admitted.add(stranger.address);
  assertEquals(world.check(world.authorize({ signer: stranger, seed: 2 })), "", "the same nonce of another node");
});

Deno.test("Requests: no two of one sender share a nonce in a millisecond, although two parts of it draw them", () => {
  const world = new Gate();
  const { timers, miner: signer, self: receiver } = world;
  const nonces = new Set<string>();
  for (const seed of [1, 2]) {
    const authorize = createAuthorize({ signer, receiver, timers, random: countingRandom(seed) });
    for (let request = 0; request < 50; request++) nonces.add(authorize(world.read)["X-Bittensor-Nonce"]!);
  }
  assertEquals(nonces.size, 100);
});
