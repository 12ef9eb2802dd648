/** The money of a swarm's own chain, to the rao: what was issued is somewhere, and what is shown as earned is in the stakes. */

import { assert, assertEquals } from "@std/assert";
import type { ChainEvent } from "../../../chain/local/block/events.ts";
import { heldRao } from "../../../chain/local/epoch/emission.ts";
import { aliceAddress, type GenesisOptions } from "../../../chain/local/block/genesis.ts";
import { LocalLedger } from "../../../chain/local/local_ledger.ts";
import { keyOfSecretUri } from "../../../chain/wallet/secret_uri.ts";
import {
  developmentColdkey,
  enrolOnDevelopmentChain,
  validatorStakeRao,
} from "../../../cli/chain/duty/development_chain.ts";
import { SwarmPay } from "../../../cli/swarm/payees.ts";
import { keyOf, netuid, tokens, weightsCall } from "../../conformance/chain_world.ts";
import { FindingWorld } from "../../support/chain/finding_world.ts";

const owned: GenesisOptions = { ownerColdkey: aliceAddress, ownerHotkey: aliceAddress };
const alice = keyOfSecretUri("//Alice")!.pair;
const validator = keyOf(50), miners = [keyOf(51), keyOf(52), keyOf(53)] as const;

const issued = (ledger: LocalLedger) => ledger.storage("Balances.TotalIssuance", []) as bigint;

/** All events of a kind, from the first block on. */
function eventsOf<T extends ChainEvent["type"]>(ledger: LocalLedger, type: T): Extract<ChainEvent, { type: T }>[] {
  const all = Array.from({ length: ledger.head().number }, (_, i) => ledger.eventsOf(i + 1)).flat();
  return all.filter((event): event is Extract<ChainEvent, { type: T }> => event.type === type);
}

async function enrol(world: FindingWorld, hotkey: string, role: "miner" | "validator"): Promise<void> {
  await enrolOnDevelopmentChain(world.chain, { hotkey, role, isPublic: false, say: () => {} });
}

/** A validator with a permit that weighs three miners 1 : 2 : 3, after this many epochs. */
async function paidWorld(epochs: number): Promise<FindingWorld> {
  const world = new FindingWorld(owned);
  for (const { address } of miners) await enrol(world, address, "miner");
  await enrol(world, validator.address, "validator");
  for (let i = 0; i < 10; i++) world.block(); // the permit
  await world.included(weightsCall({ uids: [1, 2, 3], values: [1, 2, 3] }), validator);
  for (let i = 0; i < 10 * epochs; i++) world.block();
  return world;
}

async function stakesOf(world: FindingWorld): Promise<Map<string, bigint>> {
  const { neurons } = await world.chain.metagraph();
  return new Map(neurons.map(({ hotkey, stakeRao }) => [hotkey, stakeRao]));
}

Deno.test("Swarm's pay: over several epochs every token is accounted for, and each node's earnings are its stake", async () => {
  const world = await paidWorld(4);
  try {
    const { ledger } = world;
    const pay = new SwarmPay(ledger, netuid);
    const stakes = await stakesOf(world);
    for (const { address } of miners) {
      assert(pay.earnedRao(address) > 0n, `${address} was paid`);
      assertEquals(pay.earnedRao(address), stakes.get(address), "nobody staked for a miner");
    }
    assertEquals(pay.earnedRao(validator.address), stakes.get(validator.address)! - validatorStakeRao);
    const epochs = eventsOf(ledger, "epochRan");
    const paid = (field: "minersRao" | "validatorsRao" | "ownerRao" | "burnedRao") =>
      epochs.reduce((sum, event) => sum + event[field], 0n);
    assertEquals(miners.reduce((sum, { address }) => sum + pay.earnedRao(address), 0n), paid("minersRao"));
    assertEquals(
      pay.earnedRao(validator.address) + stakes.get(aliceAddress)!,
      paid("validatorsRao") + paid("ownerRao"),
    );
    assertEquals([paid("burnedRao"), pay.burnedRao], [0n, 0n], "every node has a coldkey of its own");
    assertEquals(issued(ledger), heldRao(ledger.state));
    const fees = eventsOf(ledger, "feePaid").reduce((sum, { amountRao }) => sum + amountRao, 0n);
    const registered = eventsOf(ledger, "withdrawn").reduce((sum, { amountRao }) => sum + amountRao, 0n) -
      validatorStakeRao;
    const genesis = ledger.genesis.accounts.reduce((sum, { freeRao }) => sum + freeRao, 0n);
    const emitted = BigInt(ledger.head().number) * tokens(1);
    assertEquals(issued(ledger), genesis + emitted - registered - fees, "only registrations and fees are gone");
  } finally {
    await world.close();
  }
});

Deno.test("Swarm's pay: stake that is added or taken back is not earned, and what was paid can be taken back", async () => {
  const world = await paidWorld(2);
  try {
    const [{ address: hotkey }] = miners;
    const pay = new SwarmPay(world.ledger, netuid);
    world.ledger.onBlock(({ number }) => pay.onBlock(number));
    const before = pay.earnedRao(hotkey);
    const coldkey = developmentColdkey(hotkey);
    await world.included({ type: "removeStake", netuid, hotkey, amountAlpha: before }, coldkey);
    await world.included({ type: "addStake", netuid, hotkey, amountRao: tokens(1) }, coldkey);
    const epochs = eventsOf(world.ledger, "epochRan").length;
    for (let i = 0; i < 10; i++) world.block();
    const paid = (await stakesOf(world)).get(hotkey)! - tokens(1);
    assert(paid > 0n && eventsOf(world.ledger, "epochRan").length > epochs);
    assertEquals(pay.earnedRao(hotkey), before + paid);
    assertEquals(new SwarmPay(world.ledger, netuid).earnedRao(hotkey), before + paid, "a resumed swarm says the same");
  } finally {
    await world.close();
  }
});

Deno.test("Swarm's pay: a miner that the owner's coldkey registered earns nothing, and its part is burned", async () => {
  const world = new FindingWorld(owned);
  try {
    await world.register(miners[0], alice);
    await enrol(world, validator.address, "validator");
    for (let i = 0; i < 10; i++) world.block();
    await world.included(weightsCall({ uids: [1], values: [1] }), validator);
    for (let i = 0; i < 20; i++) world.block();
    const pay = new SwarmPay(world.ledger, netuid);
    const [, own] = (await world.chain.metagraph()).neurons;
    assert(own!.emissionRao > 0n, "the metagraph lists it as emission");
    assertEquals([pay.earnedRao(miners[0].address), own!.stakeRao], [0n, 0n]);
    assert(pay.burnedRao >= own!.emissionRao);
    assertEquals(issued(world.ledger), heldRao(world.ledger.state));
  } finally {
    await world.close();
  }
});
