/** What becomes of a call when the chain's runtime changes between its signing and its block. */

import { assert, assertEquals } from "@std/assert";
import type { NodeError } from "../../support/chain/chain_fault_proxy.ts";
import { faultTest, type FaultWorld, netuid, payer, transferCall } from "../../support/chain/chain_fault_world.ts";

const watched = "author_submitAndWatchExtrinsic";
const undecodable: NodeError = {
  code: 1002,
  message: "Verification Error: Runtime error: Execution failed: wasm trap",
};

faultTest("a call signed for the runtime before an upgrade is signed again, once", {}, async (world) => {
  const { proxy, chain } = world;
  const { specVersion } = await chain.parameters();
  const { receipt, taken } = await sentDuring(world, () => upgrade(world, { isTold: false }));
  await taken;
  world.produce();
  assertEquals((await receipt).status, "included");
  assertEquals([proxy.count(watched), world.callsDone(), proxy.connectionsMade], [2, 1, 1]);
  assertEquals((await chain.parameters()).specVersion, specVersion + 1);
});

faultTest(
  "a node that can no longer decode the call after an upgrade gets it signed again",
  {},
  async (world) => {
    const { proxy } = world;
    proxy.next(watched, { type: "refuse", error: undecodable });
    const { receipt, taken } = await sentDuring(world, () => upgrade(world, { isTold: true }));
    await taken;
    world.produce();
    assertEquals((await receipt).status, "included");
    assertEquals([proxy.count(watched), world.callsDone()], [2, 1]);
  },
);

faultTest("a node that cannot decode the call without an upgrade has refused it", {}, async (world) => {
  world.proxy.next(watched, { type: "refuse", error: undecodable }, 9);
  const { name, sentence, retry } = await world.refusal(transferCall);
  assertEquals([name, retry, world.proxy.count(watched)], ["Other", "never", 1]);
  assert(sentence.length > 0);
});

const badProofs: readonly NodeError[] = [
  { code: 1010, message: "Invalid Transaction", data: "Transaction has a bad signature" },
  { code: 1010, message: '{"invalid":"BadProof"}' },
  { code: 1010, message: '{"invalid":{"badProof":null}}' },
  { code: 1010, message: "Invalid Transaction: Transaction has an ancient birth block" },
];

for (const error of badProofs) {
  faultTest(
    `the runtime is read anew and the call tried once more after ${error.message} ${error.data ?? ""}`,
    {},
    async (world) => {
      const { proxy } = world;
      const metadataReads = proxy.count("state_call");
      proxy.next(watched, { type: "refuse", error });
      assertEquals((await world.deliver(transferCall)).status, "included");
      assertEquals([proxy.count("state_call") - metadataReads, proxy.count(watched)], [1, 2]);
      proxy.next(watched, { type: "refuse", error }, 9);
      const { name } = await world.refusal(transferCall);
      assert(["BadProof", "AncientBirthBlock"].includes(name), name);
      assertEquals([proxy.count(watched), world.callsDone()], [4, 1]);
    },
  );
}

faultTest("a call under watch outlives an upgrade", {}, async (world) => {
  const { proxy, chain } = world;
  const { specVersion } = await chain.parameters();
  const taken = world.submitted();
  const receipt = chain.send(transferCall, payer);
  await taken;
  const loaded = proxy.seen("state_call");
  await proxy.announceUpgrade();
  await loaded;
  await world.mine();
  assertEquals((await receipt).status, "included");
  assertEquals([world.callsDone(), proxy.connectionsMade, (await chain.parameters()).specVersion], [
    1,
    1,
    specVersion + 1,
  ]);
});

faultTest("a node too busy to describe its new runtime is asked again until it has", {}, async (world) => {
  const { proxy, chain, timers } = world;
  timers.swiftMs = 12_000; // as long as a node that says 429 is left alone
  const { specVersion } = await chain.parameters();
  proxy.next("state_call", { type: "refuse", error: { code: -32_000, message: "429: too many requests" } });
  const refused = proxy.seen("state_call");
  await upgrade(world, { isTold: true });
  await refused;
  assertEquals((await chain.metagraph()).netuid, netuid);
  assertEquals((await chain.parameters()).specVersion, specVersion + 1);
});

faultTest("a call that the pool throws out is refused for now", {}, async (world) => {
  world.proxy.alter = (text) => [text.replace('"ready"', '"invalid"')];
  const receipt = await world.chain.send(transferCall, payer);
  assert(receipt.status === "refused", receipt.status);
  const { refusal: { name, retry } } = receipt;
  assertEquals([name, retry, world.proxy.extrinsics.length], ["Invalid", "nextBlock", 1]);
});

/** The node runs the next version from now on. */
async function upgrade(world: FaultWorld, options: { isTold: boolean }): Promise<void> {
  await world.proxy.upgradeTo(await world.serve(world.ledger.genesis.specVersion + 1), options);
}

/** Sends the transfer, and does `change` when it is about to be signed. */
async function sentDuring(world: FaultWorld, change: () => Promise<void>) {
  const { proxy, chain } = world;
  const release = proxy.hold("chain_getHeader");
  const held = proxy.seen("held");
  const receipt = chain.send(transferCall, payer);
  await held;
  await change();
  const taken = world.submitted();
  release();
  return { receipt, taken };
}
