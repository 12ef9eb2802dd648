/** The embedded chain's node as an unmodified client meets it: @polkadot/api over a loopback socket. */

import { assertEquals, assertRejects } from "@std/assert";
import type { SubmittableExtrinsic } from "@polkadot/api/types";
import { localGenesis } from "../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { FakeLedger } from "../../support/chain/fake_ledger.ts";
import { sent, withApi } from "../../support/chain/node_api.ts";
import { alice, bob } from "../../support/chain/node_world.ts";

Deno.test("Node: the client connects, and reads storage, defaults and maps", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    assertEquals(api.runtimeVersion.specVersion.toNumber(), 425);
    assertEquals(api.genesisHash.toHex().slice(2), ledger.genesisHash.toHex());
    const { tempo, uids, lastUpdate, axons } = api.query.subtensorModule!;
    ledger.store("SubtensorModule.Tempo", [9], 100);
    ledger.store("SubtensorModule.Uids", [9, alice.publicKey], 3);
    ledger.store("SubtensorModule.LastUpdate", [9], [1n, 2n ** 60n]);
    const axon = { block: 5n, version: 1, ip: 3_405_803_777n, port: 8091, ipType: 4, protocol: 4 };
    ledger.store("SubtensorModule.Axons", [9, alice.publicKey], axon);
    assertEquals((await tempo!(9)).toJSON(), 100);
    assertEquals((await tempo!(10)).toJSON(), 360); // the runtime's default
    assertEquals((await uids!(9, alice.address)).toJSON(), 3);
    assertEquals((await uids!(9, bob.address)).toJSON(), null);
    assertEquals((await lastUpdate!(9)).toHuman(), ["1", "1,152,921,504,606,846,976"]);
    assertEquals((await axons!(9, alice.address)).toJSON(), {
      ...axon,
      block: 5,
      ip: 3_405_803_777,
      placeholder1: 0,
      placeholder2: 0,
    });
    assertEquals((await api.query.subtensorModule!.tempo!.multi([9, 10])).map(String), ["100", "360"]);
  }));

Deno.test("Node: the client lists a map's entries", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    ledger.store("SubtensorModule.TotalNetworks", [], 2);
    ledger.store("SubtensorModule.NetworksAdded", [1], true);
    ledger.store("SubtensorModule.NetworksAdded", [9], true);
    ledger.store("SubtensorModule.SubnetworkN", [9], 2);
    ledger.store("SubtensorModule.Keys", [9, 0], alice.publicKey);
    ledger.store("SubtensorModule.Keys", [9, 1], bob.publicKey);
    ledger.store("SubtensorModule.Uids", [9, bob.publicKey], 1);
    const { networksAdded, keys, uids } = api.query.subtensorModule!;
    assertEquals((await networksAdded!.entries()).map(([key]) => key.args.join()), ["1", "9"]);
    assertEquals((await keys!.entries(9)).map(([key, value]) => `${key.args.join()} ${value}`), [
      `9,0 ${alice.address}`,
      `9,1 ${bob.address}`,
    ]);
    assertEquals((await uids!.entries(9)).map(([key]) => key.args[1]!.toString()), [bob.address]);
  }));

Deno.test("Node: the client calls runtime functions", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    ledger.answer("SubnetInfoRuntimeApi.get_metagraph", [9], {
      netuid: 9,
      name: "nine",
      hotkeys: [alice.publicKey],
      active: [true],
    });
    ledger.answer("SwapRuntimeApi.current_alpha_price", [9], 5n);
    const found = await api.call.subnetInfoRuntimeApi!.getMetagraph!(9);
    const { netuid, hotkeys, active, tempo } = found.toJSON() as Record<string, unknown>;
    assertEquals({ netuid, hotkeys, active, tempo }, { netuid: 9, hotkeys: [alice.address], active: [true], tempo: 0 });
    assertEquals((await api.call.subnetInfoRuntimeApi!.getMetagraph!(10)).toJSON(), null);
    assertEquals((await api.call.swapRuntimeApi!.currentAlphaPrice!(9)).toJSON(), 5);
    await assertRejects(() => Promise.resolve(api.call.swapRuntimeApi!.currentAlphaPrice!(10)), Error, "no answer");
  }));

Deno.test("Node: a signed call goes into a block and is final with the next one", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    const mine = () => ledger.mine();
    mine();
    const weights = api.tx.subtensorModule!.setMechanismWeights!(9, 1, [0, 2], [1, 65_535], 7);
    const { statuses, error } = await sent(weights, { signer: alice, mine });
    assertEquals({ statuses, error }, { statuses: ["Ready", "InBlock", "Finalized"], error: null });
    assertEquals(ledger.accepted, [{
      from: alice.publicKey,
      nonce: 0,
      call: { type: "setWeights", netuid: 9, mechanism: 1, uids: [0, 2], values: [1, 65_535], versionKey: 7n },
    }]);
  }));

Deno.test("Node: every call of the surface reaches the ledger correctly", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    const { subtensorModule: subnet, balances } = api.tx as Record<
      string,
      Record<string, (...args: unknown[]) => SubmittableExtrinsic<"promise">>
    >;
    const hash = new Uint8Array(32).fill(7);
    const ip = { v4: 3_405_803_777n, v6: 0x20010db8000000000000000000000007n };
    const calls = [
      subnet!.burnedRegister!(9, bob.address),
      subnet!.registerNetwork!(bob.address),
      subnet!.addStake!(bob.address, 9, 5n),
      subnet!.removeStake!(bob.address, 9, 6n),
      balances!.transferKeepAlive!(bob.address, 7n),
      balances!.transferAllowDeath!(bob.address, 8n),
      subnet!.serveAxon!(9, 1, ip.v4, 8091, 4, 4, 0, 0),
      subnet!.serveAxon!(9, 1, ip.v6, 8091, 6, 4, 0, 0),
      subnet!.setWeights!(9, [1], [2], 3),
      subnet!.commitWeights!(9, hash),
      subnet!.commitMechanismWeights!(9, 1, hash),
      subnet!.revealWeights!(9, [1], [2], [3], 4),
      subnet!.revealMechanismWeights!(9, 1, [1], [2], [3], 4),
      subnet!.commitTimelockedWeights!(9, "0x0102", 55n, 4),
      subnet!.commitTimelockedMechanismWeights!(9, 1, "0x0102", 55n, 4),
    ];
    for (const [nonce, tx] of calls.entries()) await tx.signAndSend(alice, { nonce });
    const axon = { port: 8091, protocol: 4, version: 1 };
    const revealed = { uids: [1], values: [2], salt: [3], versionKey: 4n };
    const sealed = { commit: Uint8Array.of(1, 2), revealRound: 55n, commitRevealVersion: 4 };
    assertEquals(ledger.accepted.map(({ call }) => call), [
      { type: "burnedRegister", netuid: 9, hotkey: bob.address },
      { type: "registerNetwork", hotkey: bob.address },
      { type: "addStake", hotkey: bob.address, netuid: 9, amountRao: 5n },
      { type: "removeStake", hotkey: bob.address, netuid: 9, amountAlpha: 6n },
      { type: "transfer", to: bob.address, amountRao: 7n },
      { type: "transfer", to: bob.address, amountRao: 8n },
      { type: "serveAxon", netuid: 9, axon: { ip: "203.0.113.1", ...axon } },
      { type: "serveAxon", netuid: 9, axon: { ip: "2001:db8::7", ...axon } },
      { type: "setWeights", netuid: 9, mechanism: 0, uids: [1], values: [2], versionKey: 3n },
      { type: "commitWeights", netuid: 9, mechanism: 0, hash },
      { type: "commitWeights", netuid: 9, mechanism: 1, hash },
      { type: "revealWeights", netuid: 9, mechanism: 0, ...revealed },
      { type: "revealWeights", netuid: 9, mechanism: 1, ...revealed },
      { type: "commitTimelockedWeights", netuid: 9, mechanism: 0, ...sealed },
      { type: "commitTimelockedWeights", netuid: 9, mechanism: 1, ...sealed },
    ]);
  }));

Deno.test("Node: a call that fails in its block names the runtime's error", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    ledger.failWith = { pallet: "SubtensorModule", name: "SettingWeightsTooFast" };
    const tx = api.tx.subtensorModule!.setWeights!(9, [1], [2], 3);
    assertEquals((await sent(tx, { signer: alice, mine: () => ledger.mine() })).error, "SettingWeightsTooFast");
    ledger.failWith = { pallet: "Unheard", name: "Of" };
    const other = api.tx.subtensorModule!.setWeights!(9, [1], [2], 4);
    assertEquals((await sent(other, { signer: alice, mine: () => ledger.mine() })).error, "Other");
  }));

Deno.test("Node: the client's header hashes match the node's, and it finds bodies and events", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    const tx = api.tx.subtensorModule!.burnedRegister!(9, bob.address);
    const { blockHash } = await sent(tx, { signer: alice, mine: () => ledger.mine() });
    const header = await api.rpc.chain.getHeader(blockHash);
    assertEquals(header.hash.toHex(), blockHash);
    const { block } = await api.rpc.chain.getBlock(blockHash);
    assertEquals(block.extrinsics.map(({ method }) => `${method.section}.${method.method}`), [
      "timestamp.set",
      "subtensorModule.burnedRegister",
    ]);
    const events = await (await api.at(blockHash)).query.system!.events!();
    const shown = (events as unknown as { phase: { toString(): string }; event: { method: string } }[])
      .map(({ phase, event }) => `${phase} ${event.method}`);
    assertEquals(shown, ['{"applyExtrinsic":0} ExtrinsicSuccess', '{"applyExtrinsic":1} ExtrinsicSuccess']);
  }));

Deno.test("Node: heads and storage are followed", () =>
  withApi(new FakeLedger(), async ({ api, ledger }) => {
    const heads = Promise.withResolvers<number[]>();
    const seen: number[] = [];
    const unsubscribe = await api.rpc.chain.subscribeNewHeads((header) => {
      seen.push(header.number.toNumber());
      if (seen.length === 3) heads.resolve(seen);
    });
    const values = Promise.withResolvers<string[]>();
    const tempos: string[] = [];
    const stop = await api.query.subtensorModule!.tempo!(9, (tempo: { toString(): string }) => {
      tempos.push(tempo.toString());
      if (tempos.length === 2) values.resolve(tempos);
    }) as unknown as () => void;
    ledger.mine();
    ledger.store("SubtensorModule.Tempo", [9], 20);
    ledger.mine();
    assertEquals(await heads.promise, [0, 1, 2]);
    assertEquals(await values.promise, ["360", "20"]);
    unsubscribe();
    stop();
  }));

Deno.test("Node: over the embedded chain, a coldkey registers a hotkey and reads its seat", async () => {
  const ledger = LocalLedger.open({ path: ":memory:", genesis: localGenesis() });
  const mine = () => ledger.produceBlock(ledger.head().timestampMs + 1_000);
  try {
    await withApi(ledger, async ({ api }) => {
      const subnet = api.tx.subtensorModule!;
      const registered = await sent(subnet.burnedRegister!(9, bob.address), { signer: alice, mine });
      assertEquals(registered.error, null);
      const again = await sent(subnet.burnedRegister!(9, bob.address), { signer: alice, mine });
      assertEquals(again.error, "HotKeyAlreadyRegisteredInSubNet");
      assertEquals((await api.query.subtensorModule!.uids!(9, bob.address)).toJSON(), 1);
      const metagraph = (await api.call.subnetInfoRuntimeApi!.getMetagraph!(9)).toJSON() as { hotkeys: string[] };
      assertEquals(metagraph.hotkeys, [alice.address, bob.address]);
      const neurons = (await api.call.neuronInfoRuntimeApi!.getNeuronsLite!(9)).toJSON() as { hotkey: string }[];
      assertEquals(neurons.map(({ hotkey }) => hotkey), metagraph.hotkeys);
      const { nonce, data } = (await api.query.system!.account!(alice.address)).toJSON() as {
        nonce: number;
        data: { free: number };
      };
      assertEquals(nonce, 2);
      assertEquals(data.free < 1_000_000_000_000_000, true);
    });
  } finally {
    ledger.close();
  }
});

Deno.test("Node: a hotkey publishes a text; clients see its event, the text, and it in the map of all", () => {
  const ledger = LocalLedger.open({ path: ":memory:", genesis: localGenesis({}) });
  const mine = () => ledger.produceBlock(ledger.head().timestampMs + 12_000);
  return withApi(ledger, async ({ api }) => {
    const publish = (...fields: unknown[]) => api.tx.commitments!.setCommitment!(9, { fields });
    const { error, blockHash } = await sent(publish({ Raw5: "hello" }, { BigRaw: "0x0102" }), { signer: alice, mine });
    assertEquals(error, null);
    const events = await (await api.at(blockHash)).query.system!.events!() as unknown as {
      event: { section: string; method: string; data: { toJSON(): unknown } };
    }[];
    const [told] = events.filter(({ event }) => event.section === "commitments");
    assertEquals([told?.event.method, told?.event.data.toJSON()], ["Commitment", [9, alice.address]]);
    const { commitmentOf, lastCommitment, usedSpaceOf, maxSpace } = api.query.commitments!;
    const block = ledger.head().number - 1; // the extrinsic was final with the block after its own
    const fields = [{ raw5: "0x68656c6c6f" }, { bigRaw: "0x0102" }];
    assertEquals((await commitmentOf!(9, alice.address)).toJSON(), { deposit: 0, block, info: { fields } });
    assertEquals((await commitmentOf!.entries(9)).map(([key]) => key.args[1]!.toString()), [alice.address]);
    assertEquals((await lastCommitment!(9, alice.address)).toJSON(), block);
    assertEquals((await usedSpaceOf!(9, alice.address)).toJSON(), { lastEpoch: 0, usedSpace: 100 });
    assertEquals((await maxSpace!()).toJSON(), 3_100);
    assertEquals((await sent(publish({ Raw1: "x" }), { signer: bob, mine })).error, "AccountNotAllowedCommit");

    const refused = (fields: unknown[], says: string) =>
      assertRejects(() => sent(publish(...fields), { signer: alice, mine }), Error, says);
    await refused(new Array(4).fill({ Raw1: "x" }), "at most 3 fields");
    await refused([{ BigRaw: `0x${"00".repeat(513)}` }], "at most 512 bytes");
    await refused([{ TimelockEncrypted: { encrypted: "0x00", revealRound: 1 } }], "call is not expected");
  }).finally(() => ledger.close());
});
