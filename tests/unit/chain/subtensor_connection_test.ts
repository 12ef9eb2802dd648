/** The client's connection when nodes fall silent, break off, refuse, upgrade or answer nonsense. */

import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { ChainError } from "../../../chain/chain.ts";
import { faultTest } from "../../support/chain/chain_fault_world.ts";

const callMs = 15_000, keepaliveMs = 25_000, silenceMs = 75_000;

faultTest(
  "a call that gets no answer moves it to the next endpoint, where the read is done again",
  { proxies: 2 },
  async ({ chain, proxies, timers }) => {
    proxies[0]!.next("state_queryStorageAt", { type: "swallow" });
    const asked = proxies[0]!.seen("state_queryStorageAt");
    const read = chain.parameters();
    await asked;
    timers.advance(callMs);
    assertEquals((await read).blockMs, 12_000);
    assertEquals(chain.endpoint, proxies[1]!.url);
    assertEquals(proxies[1]!.openConnections, 1);
  },
);

faultTest("a socket that is open and dead is found by the keepalive", { proxies: 2 }, async (world) => {
  const { proxies, timers } = world;
  proxies[0]!.isSilent = true;
  const kept = proxies[0]!.seen("chain_getHeader");
  const moved = proxies[1]!.seen("chain_subscribeNewHeads");
  timers.advance(keepaliveMs);
  await kept;
  timers.advance(callMs);
  await moved;
  await world.mine();
  assertEquals(world.chain.endpoint, proxies[1]!.url);
});

faultTest("a node that answers but tells of no new block is left after 75 s", { proxies: 2 }, async (world) => {
  const { proxies, timers } = world;
  proxies[0]!.hidesHeads = true;
  world.produce();
  const moved = proxies[1]!.seen("chain_subscribeNewHeads");
  for (let passed = 0; passed < silenceMs; passed += keepaliveMs) {
    const kept = proxies[0]!.seen("chain_getHeader");
    timers.advance(keepaliveMs - 1); // its answer shall not be late
    if (passed === 0) assertEquals(world.chain.endpoint, proxies[0]!.url);
    timers.advance(1);
    if (passed + keepaliveMs < silenceMs) await kept;
    if (passed + keepaliveMs < silenceMs) {
      await world.chain.balanceOf("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");
    }
  }
  await moved;
  await world.seen(1);
  assertEquals(world.chain.endpoint, proxies[1]!.url);
});

faultTest(
  "a broken connection fails no read: both are repeated",
  { proxies: 1 },
  async ({ chain, proxy }) => {
    proxy.next("state_call", { type: "drop" });
    assertEquals((await chain.metagraph()).neurons.length, 1);
    assertEquals(proxy.connectionsMade, 2);
    assertEquals(proxy.openConnections, 1);
  },
);

faultTest("heads are reported in order and once, however often a node repeats them", {}, async (world) => {
  const heads: number[] = [];
  world.chain.onHead(({ block }) => heads.push(block));
  world.proxy.repeatsHeads = true;
  for (let i = 0; i < 3; i++) await world.mine();
  world.proxy.cut();
  await world.proxy.seen("chain_subscribeNewHeads");
  await world.mine();
  assertEquals(heads, [1, 2, 3, 4]);
});

faultTest(
  "after an answer that is not JSON, or of the wrong type, another endpoint is asked",
  { proxies: 2 },
  async ({ chain, proxies }) => {
    proxies[0]!.next("state_queryStorageAt", { type: "garble" });
    assertEquals((await chain.parameters()).tempoBlocks > 0, true);
    assertEquals(chain.endpoint, proxies[1]!.url);
    proxies[1]!.next("state_call", { type: "answer", result: "0x01ff" });
    assertEquals((await chain.metagraph()).neurons.length, 1);
    assertEquals(chain.endpoint, proxies[0]!.url);
  },
);

faultTest("a slow answer within the deadline is waited for", {}, async ({ chain, proxy, timers }) => {
  const release = proxy.hold("state_call");
  const asked = proxy.seen("state_call");
  const read = chain.metagraph();
  await asked;
  timers.advance(callMs - 1);
  release();
  assertEquals((await read).neurons.length, 1);
  assertEquals(proxy.connectionsMade, 1);
});

faultTest("one socket serves all callers, and each query is sent once per block", {}, async (world) => {
  const { chain, proxy } = world;
  const reads = Array.from({ length: 10 }, () => Promise.all([chain.metagraph(), chain.parameters()]));
  await Promise.all(reads);
  assertEquals([proxy.connectionsMade, proxy.count("state_call") - 1, proxy.count("state_queryStorageAt")], [1, 1, 1]);
  await world.mine();
  await Promise.all([chain.metagraph(), chain.metagraph()]);
  assertEquals(proxy.count("state_call") - 1, 2); // one of them was for the metadata
});

faultTest("a refused upgrade is tried again, ever less often, until the endpoint takes it", {}, async (world) => {
  const { proxy, timers } = world;
  timers.swiftMs = 12_000;
  proxy.refusedStatus = 429;
  proxy.cut();
  for (let attempt = 0; attempt < 3; attempt++) await proxy.seen("upgrade");
  proxy.heal();
  assertEquals((await world.chain.metagraph()).neurons.length, 1);
  assertEquals(timers.swiftWaits.slice(0, 3), [375, 11_250, 11_250]); // lost, then "too many requests"; the random numbers show one half
});

faultTest(
  "a node that answers a call with 429 gets a rest, then the call again",
  {},
  async ({ chain, proxy, timers }) => {
    timers.swiftMs = 12_000;
    proxy.next("state_call", { type: "refuse", error: { code: 429, message: "Too Many Requests" } });
    assertEquals((await chain.metagraph()).neurons.length, 1);
    assertEquals(proxy.connectionsMade, 1);
  },
);

faultTest("state that a node has pruned is read at the block it calls newest", {}, async ({ chain, proxy }) => {
  const error = { code: 4003, message: "Client error: UnknownBlock: State already discarded for 0x00" };
  proxy.next("state_queryStorageAt", { type: "refuse", error });
  assertEquals((await chain.parameters()).mechanisms, 1);
});

faultTest("an upgrade that the node tells of is followed without a new connection", {}, async (world) => {
  const { chain, proxy } = world;
  const before = (await chain.parameters()).specVersion;
  const url = await world.serve(before + 1);
  await proxy.upgradeTo(url, { isTold: true });
  await world.mine();
  assertEquals((await chain.parameters()).specVersion, before + 1);
  assertEquals(proxy.connectionsMade, 1);
});

faultTest("connecting fails with a reason for each endpoint, also where the handshake gets no answer", {
  proxies: 2,
  connects: false,
}, async (world) => {
  const { proxies, timers } = world;
  proxies[0]!.isBlackHole = true;
  proxies[1]!.refusedStatus = 503;
  const dialled = proxies[0]!.seen("upgrade");
  const error = assertRejects(() => world.connect(), ChainError);
  await dialled;
  timers.advance(callMs);
  const { code, message } = await error;
  assertEquals(code, "unreachable");
  assert(message.includes("handshake within 15 s") && message.includes("503"), message);
});

faultTest("a node that tells of an absurd block does not silence the next one", {
  proxies: 2,
  client: { keepaliveMs: 1_000_000 },
}, async (world) => {
  const { proxies, timers, chain } = world;
  const heads: number[] = [];
  chain.onHead(({ block }) => heads.push(block));
  const absurd = (text: string) => text.replace(/"number":"0x[0-9a-f]+"/, '"number":"0xffffff"');
  proxies[0]!.alter = (text) => [text.includes("chain_newHead") ? absurd(text) : text];
  world.produce();
  await world.seen(0xff_ffff);
  assertEquals((await chain.parameters()).block, 1); // read where the node says it is
  const moved = proxies[1]!.seen("chain_subscribeNewHeads");
  timers.advance(silenceMs);
  await moved;
  const told = Promise.withResolvers<void>();
  chain.onHead(({ block }) => block === 2 && told.resolve());
  world.produce();
  await told.promise;
  assertEquals([heads.at(-1), chain.endpoint], [2, proxies[1]!.url]);
});

faultTest("closing ends what is under way and leaves no connection", {}, async ({ chain, proxy }) => {
  proxy.next("state_call", { type: "swallow" });
  const asked = proxy.seen("state_call");
  const read = assertRejects(() => chain.metagraph(), ChainError);
  await asked;
  await chain.close();
  assertEquals((await read).code, "closed");
  assertEquals((await assertRejects(() => chain.head(), ChainError)).code, "closed");
});

faultTest("reconnecting many times leaves one connection", {}, async (world) => {
  for (let i = 0; i < 5; i++) {
    const again = world.proxy.seen("chain_subscribeNewHeads");
    world.proxy.cut();
    await again;
    await world.mine();
  }
  assertEquals([world.proxy.connectionsMade, world.proxy.openConnections], [6, 1]);
});

faultTest(
  "an outage is reported once, with its reason, and its end once; a node that is back at once was not away",
  {},
  async (world) => {
    const { chain, proxy, timers } = world;
    timers.swiftMs = 12_000; // as long as the waits before the next attempts
    const told: (string | null)[] = [];
    let next = Promise.withResolvers<void>();
    chain.onOutage((problem) => {
      told.push(problem);
      next.resolve();
      next = Promise.withResolvers();
    });
    proxy.next("state_call", { type: "drop" });
    await chain.metagraph();
    assertEquals(told, []);
    proxy.refusedStatus = 503;
    const out = next.promise;
    proxy.cut();
    await out;
    await proxy.seen("upgrade");
    assertEquals(told.length, 1);
    assertStringIncludes(told[0]!, proxy.url);
    const back = next.promise;
    proxy.heal();
    await back;
    assertEquals([told.length, told[1]], [2, null]);
  },
);
