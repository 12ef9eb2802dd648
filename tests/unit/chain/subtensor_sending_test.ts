/** What the client sends when answers, connections and counts go wrong on the way: each call at most once, and its fate told. */

import { assert, assertEquals } from "@std/assert";
import type { ChainCall } from "../../../chain/call.ts";
import { callLifeBlocks, type Receipt } from "../../../chain/chain.ts";
import type { NodeError } from "../../support/chain/chain_fault_proxy.ts";
import {
  faultTest,
  type FaultWorld,
  ownerHotkey,
  payer,
  stranger,
  token,
  transferCall,
} from "../../support/chain/chain_fault_world.ts";

const callMs = 15_000, keepaliveMs = 25_000, waitMs = 10_000, patienceMs = 60_000;
const watched = "author_submitAndWatchExtrinsic", unwatched = "author_submitExtrinsic";
const impatient = { client: { inclusionWaitMs: waitMs } };
const staleError = { code: 1010, message: "Invalid Transaction", data: "Transaction is outdated" };
const busyError = { code: 429, message: "Too Many Requests" };
const weightsCall: ChainCall = {
  type: "setWeights",
  netuid: 9,
  mechanism: 0,
  uids: [0],
  values: [65_535],
  versionKey: 0n,
};

/** All that was sent is one and the same extrinsic, and it is in a block once. */
function assertOnce(world: FaultWorld): void {
  const sent = new Set(world.proxies.flatMap(({ extrinsics }) => extrinsics));
  assertEquals([sent.size, world.callsDone()], [1, 1]);
}

faultTest("a call whose answer was lost is found in its block", {}, async (world) => {
  world.proxy.next(watched, { type: "dropAnswer" });
  assertEquals(await statusOf(world), "included in 1");
  assertOnce(world);
});

faultTest("a call that the node never heard of is sent again as the same bytes", {}, async (world) => {
  world.proxy.next(watched, { type: "drop" });
  assertEquals(await statusOf(world), "included in 1");
  assertEquals(world.proxy.count(unwatched), 1);
  assertOnce(world);
});

faultTest("a call outlives an outage in which it cannot be sent again", {}, async (world) => {
  const { proxy, timers } = world;
  proxy.next(watched, { type: "drop" });
  proxy.next(unwatched, { type: "drop" });
  const again = proxy.seen(unwatched);
  const receipt = world.chain.send(transferCall, payer);
  await again;
  const refused = proxy.seen("upgrade");
  proxy.refusedStatus = 503;
  await refused;
  timers.advance(patienceMs);
  proxy.refusedStatus = null;
  const taken = world.submitted();
  world.produce();
  timers.advance(patienceMs);
  await taken;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest("a call outlives the connection on which it was watched", {}, async (world) => {
  const { receipt } = await watchedCall(world);
  const again = world.proxy.seen(unwatched);
  world.proxy.cut();
  await again;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest("a socket that dies silently under a watch is left, and the call found", { proxies: 2 }, async (world) => {
  const { proxies, timers } = world;
  const { receipt } = await watchedCall(world);
  proxies[0]!.isSilent = true;
  const kept = proxies[0]!.seen("chain_getHeader");
  const again = proxies[1]!.seen(unwatched);
  timers.advance(keepaliveMs);
  await kept;
  timers.advance(callMs);
  await again;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest("a watch that tells nothing ends with the wait, and the blocks tell", impatient, async (world) => {
  world.proxy.hidesWatches = true;
  const taken = world.submitted();
  const receipt = world.chain.send(transferCall, payer);
  await taken;
  await world.mine();
  world.timers.advance(waitMs);
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest(
  "a call in no block when the wait is over has an unknown fate, and is not sent again",
  impatient,
  async (world) => {
    world.proxy.next(watched, { type: "answer", result: "s99" });
    const asked = world.proxy.seen(watched);
    const receipt = world.chain.send(transferCall, payer);
    await asked;
    world.timers.advance(waitMs);
    const settled = await receipt;
    assert(
      settled.status === "unknown" && settled.why.includes(`until block ${callLifeBlocks - 1}`),
      JSON.stringify(settled),
    );
    assertEquals(world.proxy.extrinsics.length, 1);
  },
);

faultTest("a call whose blocks are over is refused, as no block can hold it any more", {}, async (world) => {
  world.proxy.next(watched, { type: "answer", result: "s99" });
  world.proxy.next(unwatched, { type: "answer", result: "0x00" });
  const asked = world.proxy.seen(watched), again = world.proxy.seen(unwatched);
  const receipt = world.chain.send(transferCall, payer);
  await asked;
  world.proxy.cut();
  await again;
  for (let i = 0; i < callLifeBlocks; i++) world.produce();
  const settled = await receipt;
  assert(settled.status === "refused" && settled.refusal.name === "AncientBirthBlock", JSON.stringify(settled));
  assertEquals([settled.refusal.retry, world.callsDone()], ["nextBlock", 0]);
});

faultTest("a question before signing that gets no answer is asked again; nothing was sent", {}, async (world) => {
  world.proxy.next("system_accountNextIndex", { type: "swallow" });
  const asked = world.proxy.seen("system_accountNextIndex"), taken = world.submitted();
  const receipt = world.chain.send(transferCall, payer);
  await asked;
  world.timers.advance(callMs);
  await taken;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest("the very call that another process has in the pool is waited for, not sent twice", {}, async (world) => {
  const other = await world.another();
  const release = world.proxy.hold("system_accountNextIndex");
  const held = world.proxy.seen("held"), taken = world.submitted();
  const receipt = world.chain.send(transferCall, payer);
  await held;
  const theirs = other.send(transferCall, payer);
  await taken;
  const refused = world.submitted(); // priority too low
  release();
  await refused;
  world.produce();
  assertEquals(await receipt, await theirs);
  assertEquals([(await receipt).status, world.callsDone(), world.proxy.extrinsics.length], ["included", 1, 1]);
});

faultTest("another call in the pool with our nonce gets its block, then ours is signed again", {}, async (world) => {
  const release = world.proxy.hold("system_accountNextIndex");
  const held = world.proxy.seen("held");
  const receipt = world.chain.send(transferCall, payer);
  await held;
  world.elsewhere({ type: "transfer", to: stranger.address, amountRao: 10n * token });
  const refused = world.submitted();
  release();
  await refused;
  const taken = world.submitted();
  world.produce();
  await taken;
  world.produce();
  assertEquals([(await receipt).status, world.callsDone(), world.proxy.extrinsics.length], ["included", 3, 2]);
});

faultTest("a number that stays taken to the end of the wait is a refusal for now", impatient, async (world) => {
  const release = world.proxy.hold("system_accountNextIndex");
  const held = world.proxy.seen("held"), looked = world.proxy.seen("state_queryStorageAt");
  const receipt = world.chain.send(transferCall, payer);
  await held;
  world.elsewhere(transferCall);
  release();
  await looked;
  world.timers.advance(waitMs);
  const settled = await receipt;
  assert(settled.status === "refused" && settled.refusal.name === "LowPriority", JSON.stringify(settled));
  assertEquals([settled.refusal.retry, world.proxy.extrinsics.length], ["nextBlock", 1]);
});

faultTest("a number used between the question and the sending is asked for again", {}, async (world) => {
  const release = world.proxy.hold("system_accountNextIndex");
  const held = world.proxy.seen("held");
  const receipt = world.chain.send(transferCall, payer);
  await held;
  world.elsewhere(transferCall);
  world.produce();
  const stale = world.submitted();
  release();
  await stale;
  await world.submitted();
  world.produce();
  assertEquals([(await receipt).status, world.callsDone(), world.proxy.extrinsics.length], ["included", 2, 2]);
});

const countErrors: readonly NodeError[] = [
  staleError,
  { code: 1010, message: '{"invalid":{"stale":null}}' },
  { code: 1010, message: "Invalid Transaction: Transaction will be valid in the future" },
  { code: 1010, message: '{"invalid":"Future"}' },
];

for (const error of countErrors) {
  faultTest(`the number is asked for anew after ${error.message} ${error.data ?? ""}`, {}, async (world) => {
    world.proxy.next(watched, { type: "refuse", error });
    assertEquals(await statusOf(world), "included in 1");
    assertEquals([world.proxy.count("system_accountNextIndex"), world.callsDone()], [2, 1]);
  });
}

faultTest("a node whose count lags behind its pool is given a block", {}, async (world) => {
  world.proxy.next(watched, { type: "refuse", error: staleError }, 2);
  const first = world.proxy.seen(watched);
  const receipt = world.chain.send(transferCall, payer);
  await first;
  await world.proxy.seen(watched);
  const taken = world.submitted();
  world.produce();
  await taken;
  world.produce();
  assertEquals([(await receipt).status, world.callsDone(), world.proxy.extrinsics.length], ["included", 1, 3]);
});

faultTest("two calls of one account go one after the other, those of two accounts together", {}, async (world) => {
  const first = world.submitted();
  const receipts = [world.chain.send(transferCall, payer), world.chain.send(transferCall, payer)];
  await first;
  const hotkeys = world.submitted();
  const weights = world.chain.send(weightsCall, ownerHotkey);
  await hotkeys;
  assertEquals(world.proxy.extrinsics.length, 2);
  const second = world.submitted();
  world.produce();
  await second;
  world.produce();
  const blocks = (await Promise.all([...receipts, weights])).map((each) => each.status === "included" && each.block);
  assertEquals([blocks, world.callsDone()], [[1, 2, 1], 2]);
});

faultTest("a call that fails does not hold up the next of its account", {}, async (world) => {
  world.proxy.next(watched, {
    type: "refuse",
    error: { code: 1010, message: "Invalid Transaction", data: "Custom error: 2" },
  });
  const refused = world.chain.send(transferCall, payer);
  assertEquals(await statusOf(world), "included in 1");
  assertEquals((await refused).status, "refused");
});

faultTest("a node that is asked too often gets a rest, then the same bytes", {}, async (world) => {
  world.timers.swiftMs = 12_000;
  world.proxy.next(watched, { type: "refuse", error: busyError });
  assertEquals(await statusOf(world), "included in 1");
  assert(world.timers.swiftWaits.includes(11_250));
  assertOnce(world);
});

faultTest("a node that stays busy is tried with every new block", {}, async (world) => {
  world.timers.swiftMs = 12_000;
  world.proxy.next(watched, { type: "refuse", error: busyError }, 4);
  world.proxy.next(unwatched, { type: "refuse", error: busyError });
  const tried = world.proxy.seen(unwatched), taken = world.submitted();
  const receipt = world.chain.send(transferCall, payer);
  await tried;
  world.produce();
  await taken;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertOnce(world);
});

faultTest("bytes that a busy node had accepted after all are found, not signed again", {}, async (world) => {
  world.timers.swiftMs = 12_000;
  world.proxy.next(watched, { type: "refuse", error: busyError });
  world.proxy.next(watched, { type: "refuse", error: staleError });
  assertEquals(await statusOf(world), "included in 1");
  assertOnce(world);
});

faultTest("events that the node has pruned are read from an archive", { proxies: 2, archives: 1 }, async (world) => {
  world.proxy.next("state_getStorage", { type: "refuse", error: pruned });
  assertEquals(await statusOf(world), "included in 1");
  assertEquals([world.proxies[1]!.connectionsMade, world.proxies[1]!.count("state_getStorage")], [1, 1]);
});

faultTest("without an archive, weights of which only the row is left are known by their date", {}, async (world) => {
  world.proxy.next("state_getStorage", { type: "refuse", error: pruned }, 2);
  assertEquals((await world.deliver(weightsCall, ownerHotkey)).status, "included");
  const settled = await world.deliver(transferCall);
  assert(settled.status === "unknown" && settled.why.includes("in block 2"), JSON.stringify(settled));
});

faultTest("blocks that the node no longer has do not count as seen", impatient, async (world) => {
  world.proxy.next(watched, { type: "dropAnswer" });
  world.proxy.next("chain_getBlock", { type: "refuse", error: pruned });
  const settled = await world.deliver(transferCall);
  assert(settled.status === "unknown" && settled.why.includes("no longer be read"), JSON.stringify(settled));
  assertEquals(world.callsDone(), 1);
});

faultTest("closing while a call waits leaves its fate unknown and no connection", {}, async (world) => {
  const { receipt } = await watchedCall(world);
  await world.chain.close();
  assertEquals((await receipt).status, "unknown");
  while (world.proxy.openConnections > 0) await world.proxy.seen("message");
});

faultTest("clients that come and go leave no connection behind", { connects: false }, async (world) => {
  for (let i = 0; i < 3; i++) {
    await world.connect();
    await statusOf(world);
    await world.chain.close();
  }
  while (world.proxy.openConnections > 0) await world.proxy.seen("message");
  assertEquals([world.proxy.connectionsMade, world.callsDone()], [3, 3]);
});

/** A call that the client knows to be in the pool. */
async function watchedCall(world: FaultWorld): Promise<{ receipt: Promise<Receipt> }> {
  const taken = world.submitted();
  const receipt = world.chain.send(transferCall, payer);
  await taken;
  await world.chain.balanceOf(payer.address); // answered on the same socket after the pool's answer
  return { receipt };
}

const pruned = { code: 4003, message: "Client error: UnknownBlock: State already discarded for 0x00" };

/** Sends the transfer and makes its block. */
async function statusOf(world: FaultWorld): Promise<string> {
  const receipt = await world.deliver(transferCall);
  return receipt.status === "included" ? `included in ${receipt.block}` : JSON.stringify(receipt);
}
