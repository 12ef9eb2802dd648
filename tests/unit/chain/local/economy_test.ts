/** Prices, burns and epochs of the embedded chain over many blocks. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { heldRao } from "../../../../chain/local/epoch/emission.ts";
import type { LocalLedger } from "../../../../chain/local/local_ledger.ts";
import { netuid, tokens } from "../../../conformance/chain_world.ts";
import {
  blocks,
  miner,
  newcomer,
  openLedger,
  populated,
  register,
  send,
  vote,
  voter,
} from "../../../support/chain/small_subnet.ts";

const burn = (ledger: LocalLedger) => ledger.storage("SubtensorModule.Burn", [netuid]) as bigint;
const issued = (ledger: LocalLedger) => ledger.storage("Balances.TotalIssuance", []) as bigint;

Deno.test("Registration price: rises with each registration, halves in its half-life, stays within its bounds", () => {
  const hyperparameters = {
    firstBurnRao: tokens(8),
    burnHalfLifeBlocks: 50,
    burnIncreasePercent: 100,
    maxBurnRao: tokens(10),
  };
  const ledger = openLedger({ hyperparameters });
  blocks(ledger, 50);
  assertAlmostEquals(Number(burn(ledger)) / 1e9, 4, 1e-5);
  const price = burn(ledger);
  send(ledger, register(miner));
  assertAlmostEquals(Number(burn(ledger)) / Number(price), 2, 0.05);
  send(ledger, register(voter));
  assertEquals(burn(ledger), tokens(10));
  blocks(ledger, 3_000);
  assertEquals(burn(ledger), ledger.storage("SubtensorModule.MinBurn", [netuid]));
  ledger.close();
});

Deno.test("Subnet price: doubles with a new subnet and falls back in a line", () => {
  const ledger = openLedger({ networkMinLockRao: tokens(100), networkLockReductionBlocks: 100, maxSubnets: 3 });
  const price = () => ledger.runtimeApi("SubnetRegistrationRuntimeApi.get_network_registration_cost", []) as bigint;
  assertEquals(price(), tokens(100));
  assertEquals(send(ledger, { type: "registerNetwork", hotkey: voter.address }), null);
  assertEquals(price(), tokens(200));
  blocks(ledger, 50);
  assertEquals(price(), tokens(150));
  assertEquals(send(ledger, { type: "registerNetwork", hotkey: miner.address }), null);
  assertEquals(ledger.storage("SubtensorModule.NetworksAdded", [2]), true);
  assertEquals(send(ledger, { type: "registerNetwork", hotkey: newcomer.address }), "SubnetLimitReached");
  ledger.close();
  const dear = openLedger({ networkMinLockRao: tokens(10 ** 7) });
  assertEquals(send(dear, { type: "registerNetwork", hotkey: newcomer.address }), "CannotAffordLockCost");
  dear.close();
});

Deno.test("Incentive of the owner's own hotkeys is burned, its cut is not", () => {
  const ledger = populated();
  assertEquals(send(ledger, vote([0, 2], [1, 1]), voter.publicKey), null);
  const before = issued(ledger);
  blocks(ledger, 20 - ledger.head().number % 20);
  const epoch = ledger.eventsOf(ledger.head().number).find(({ type }) => type === "epochRan");
  assert(epoch?.type === "epochRan");
  assertEquals([epoch.ownerRao, epoch.burnedRao], [tokens(20) * 18n / 100n, tokens(20) * 41n / 200n]);
  assertEquals(epoch.minersRao, epoch.burnedRao);
  assertEquals(issued(ledger) - before, BigInt(20 - 1) * tokens(1) - epoch.burnedRao);
  assertEquals(issued(ledger), heldRao(ledger.state));
  ledger.close();
});

Deno.test("Weights for a replaced neuron do not count for the one that took its uid", () => {
  const ledger = populated({ hyperparameters: { maxUids: 3, immunityPeriodBlocks: 2, activityCutoffBlocks: 10_000 } });
  assertEquals(send(ledger, vote([2], [1]), voter.publicKey), null);
  assertEquals(send(ledger, register(newcomer)), null); // the miner has earned nothing yet
  assertEquals(ledger.storage("SubtensorModule.Keys", [netuid, 2]), newcomer.publicKey);
  assertEquals(ledger.storage("SubtensorModule.Weights", [netuid, 1]), [[2, 0]]);
  blocks(ledger, 20);
  assertEquals(ledger.storage("SubtensorModule.Incentive", [netuid]), [0, 0, 0]);
  assertEquals(send(ledger, vote([2], [1]), voter.publicKey), null);
  blocks(ledger, 20);
  assertEquals(ledger.storage("SubtensorModule.Incentive", [netuid]), [0, 0, 65_535]);
  ledger.close();
});

Deno.test("A full subnet whose neurons are all protected accepts no newcomer", () => {
  const ledger = openLedger({ hyperparameters: { maxUids: 1 } });
  assertEquals(send(ledger, register(miner)), "NoNeuronIdAvailable");
  ledger.close();
});

Deno.test("An epoch that was asked for runs in its block, and the next one a tempo later", () => {
  const ledger = openLedger({ hyperparameters: { tempoBlocks: 50 } });
  ledger.state.change("clock", `${netuid}`, { pendingEpochAtBlock: 8 });
  const ranIn: number[] = [];
  for (let block = 1; block <= 60; block++) {
    blocks(ledger, 1);
    if (ledger.eventsOf(block).some(({ type }) => type === "epochRan")) ranIn.push(block);
  }
  assertEquals(ranIn, [8, 58]);
  ledger.close();
});
