/** A command's call on a chain whose newest blocks are not final: what is said, and what a fork does to it. */

import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { callLifeBlocks } from "../../../chain/chain.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { localNode } from "../../../chain/local/rpc/server/local_node.ts";
import { serveRpc } from "../../../chain/local/rpc/server/rpc_server.ts";
import { runtimeOf } from "../../../chain/local/surface/runtime.ts";
import { runtimeSurface } from "../../../chain/local/surface/surface.ts";
import { finalityText, sendCall, type Sent } from "../../../cli/chain/send_call.ts";
import { exitTooSoon, TooSoonError } from "../../../cli/program/errors.ts";
import { faultTest, type FaultWorld, netuid, payer, transferCall } from "../../support/chain/chain_fault_world.ts";

/** Sends the transfer, which lands in block 1. */
async function sent(
  world: FaultWorld,
  { isFinalAwaited }: { isFinalAwaited: boolean },
): Promise<{ outcome: Promise<Sent> }> {
  const access = {
    ...{ chain: world.chain, netuid, isPublic: false, connectMs: 0, reading: <T>(work: Promise<T>) => work },
    commandTo: (words: string) => `iota chain ${words}`,
  };
  const submitted = world.submitted();
  const outcome = sendCall(access, { action: "pay", call: transferCall, signer: payer, isFinalAwaited });
  outcome.catch(() => {/* the test awaits it later */});
  await submitted;
  await world.mine();
  return { outcome };
}

/** As a node answers whose newest final block is the genesis; the handshake of a call asks once, too. */
function lag(world: FaultWorld, times: number): void {
  const result = `0x${world.ledger.blockHash(0)!.toHex()}`;
  world.proxy.next("chain_getFinalizedHead", { type: "answer", result }, times);
}

/** Another branch from the genesis, without the call. Requests go there from now on. */
async function fork(world: FaultWorld, blocks: number): Promise<() => Promise<void>> {
  const { genesis } = world.ledger;
  const ledger = LocalLedger.open({ path: ":memory:", genesis });
  const node = localNode({ ledger, runtime: runtimeOf(runtimeSurface(genesis)), limits: {} });
  const server = await serveRpc({ node, host: "127.0.0.1", port: 0 });
  for (let i = 0; i < blocks; i++) ledger.produceBlock(ledger.head().timestampMs + genesis.blockMs + 1);
  await world.proxy.upgradeTo(server.url, { isTold: false });
  return async () => {
    await server.close();
    node.close();
    ledger.close();
  };
}

faultTest("a command's call whose block is not final says so, and one whose block is does not", {}, async (world) => {
  lag(world, 2);
  const open = await (await sent(world, { isFinalAwaited: false })).outcome;
  assertEquals([open.block, open.isFinal], [1, false]);
  assertStringIncludes(finalityText(open), "not final yet: a fork of the chain can still undo it; --wait-final waits");
  const final = await (await sent(world, { isFinalAwaited: false })).outcome;
  assertEquals([final.block, final.isFinal, finalityText(final)], [2, true, ""]);
});

faultTest("with --wait-final a command ends when its call is in a final block", {}, async (world) => {
  lag(world, 3); // when signing, after landing, one block later
  const { outcome } = await sent(world, { isFinalAwaited: true });
  while (world.proxy.count("chain_getFinalizedHead") < 2) await world.proxy.seen("chain_getFinalizedHead");
  await world.mine();
  while (world.proxy.count("chain_getFinalizedHead") < 3) await world.proxy.seen("chain_getFinalizedHead");
  await world.mine();
  assertEquals([(await outcome).block, (await outcome).isFinal], [1, true]);
});

faultTest("with --wait-final a call that a fork removed is an error for later, not a success", {}, async (world) => {
  lag(world, 2);
  const { outcome } = await sent(world, { isFinalAwaited: true });
  while (world.proxy.count("chain_getFinalizedHead") < 2) await world.proxy.seen("chain_getFinalizedHead");
  await world.proxy.roundTrip();
  const close = await fork(world, 1 + callLifeBlocks);
  try {
    const rejected = assertRejects(() => outcome, TooSoonError, "a fork of the chain removed block 1 with the call");
    await world.mine();
    assertEquals((await rejected).exitCode, exitTooSoon);
  } finally {
    world.proxy.cut();
    await close();
  }
});
