/** Registering, staking, transferring, serving: what happens, and how each refusal is called. */

import { assert, assertEquals } from "@std/assert";
import {
  type ChainCase,
  coldkey,
  keyOf,
  miner,
  netuid,
  otherMiner,
  ownerColdkey,
  ownerHotkey,
  stranger,
  tokens,
  uids,
  validator,
} from "./chain_world.ts";

const axon = { ip: "203.0.113.7", port: 8091, protocol: 4, version: 1 };
const serve = (change: Partial<typeof axon> = {}) =>
  ({ type: "serveAxon", netuid, axon: { ...axon, ...change } }) as const;
const register = (hotkey: { readonly address: string }) =>
  ({ type: "burnedRegister", netuid, hotkey: hotkey.address }) as const;

export function callCases(test: ChainCase): void {
  registrationCases(test);
  seatCases(test);
  stakeCases(test);
  servingCases(test);

  test("the parameters are the subnet's rules", { hyperparameters: { mechanisms: 2 } }, async (world) => {
    const { block, registrationCostRao, ...rules } = await world.chain.parameters();
    assertEquals(block, 0);
    assert(registrationCostRao > 0n);
    assertEquals(rules, {
      ...{ tempoBlocks: 10, minAllowedWeights: 1, maxWeightsLimit: 65_535, weightsVersionKey: 0n },
      ...{ weightsRateLimitBlocks: 3, isCommitReveal: false, commitRevealVersion: 4, revealPeriodEpochs: 1 },
      ...{ mechanisms: 2, stakeThresholdRao: 0n, servingRateLimitBlocks: 3, activityCutoffBlocks: 5_000 },
      ...{ immunityPeriodBlocks: 100, isRegistrationAllowed: true, maxUids: 256, maxValidators: 64 },
      ...{ ownerHotkey: ownerHotkey.address, ownerColdkey: ownerColdkey.address, blockMs: 1_000, specVersion: 425 },
      consensus: "yuma",
    });
  });

  test("heads come in order, each once, and stop when asked", {}, async (world) => {
    const seen: number[] = [];
    const stop = world.chain.onHead(({ block }) => seen.push(block));
    await world.blocks(3);
    stop();
    await world.blocks(2);
    assertEquals(seen, [1, 2, 3]);
    assertEquals((await world.chain.head()).block, 5);
  });

  test("a transfer moves tokens, and one that is too large moves none", {}, async (world) => {
    const before = await world.chain.balanceOf(coldkey.address);
    await world.included({ type: "transfer", to: stranger.address, amountRao: tokens(5) }, coldkey);
    assertEquals(await world.chain.balanceOf(stranger.address), tokens(5));
    assertEquals(await world.chain.balanceOf(coldkey.address), before - tokens(5));
    await world.refused({ type: "transfer", to: miner.address, amountRao: tokens(6) }, stranger, "FundsUnavailable");
    assertEquals(await world.chain.balanceOf(miner.address), 0n);
  });
}

function registrationCases(test: ChainCase): void {
  test(
    "a registration costs what the parameters say, takes the next uid, and is dearer the next time",
    {},
    async (world) => {
      const { registrationCostRao } = await world.chain.parameters();
      const before = await world.chain.balanceOf(coldkey.address);
      const block = await world.included(register(miner), coldkey);
      const paid = before - await world.chain.balanceOf(coldkey.address);
      assert(paid <= registrationCostRao && paid > registrationCostRao * 99n / 100n, "the price fell for one block");
      const neuron = await world.neuron(1);
      assertEquals([neuron.hotkey, neuron.coldkey], [miner.address, coldkey.address]);
      assertEquals([neuron.registeredAtBlock, neuron.hasPermit, neuron.axon], [block, false, null]);
      assert((await world.chain.parameters()).registrationCostRao > registrationCostRao);
    },
  );

  test("a registration is refused for a known hotkey, an empty coldkey, another's hotkey", {}, async (world) => {
    await world.included(register(miner), coldkey);
    await world.refused(register(miner), coldkey, "HotKeyAlreadyRegisteredInSubNet");
    await world.refused(register(validator), stranger, "NotEnoughBalanceToStake");
    await world.included({ type: "transfer", to: stranger.address, amountRao: tokens(100) }, coldkey);
    await world.refused({ ...register(miner), netuid: 99 }, coldkey, "SubnetNotExists");
    await world.included({ type: "registerNetwork", hotkey: validator.address }, coldkey);
    await world.refused(register(validator), stranger, "NonAssociatedColdKey");
  });

  test("a registration with a highest price is made below it and refused above it", {}, async (world) => {
    const { registrationCostRao } = await world.chain.parameters();
    await world.refused(
      { ...register(miner), limitRao: registrationCostRao / 2n },
      coldkey,
      "RegistrationPriceLimitExceeded",
    );
    await world.included({ ...register(miner), limitRao: registrationCostRao }, coldkey);
  });

  const closed = { hyperparameters: { isRegistrationAllowed: false } };
  test("a subnet can be closed to newcomers", closed, async (world) => {
    await world.refused(register(miner), coldkey, "SubNetRegistrationDisabled");
    assertEquals((await world.chain.parameters()).isRegistrationAllowed, false);
  });

  test("a subnet can be founded once per rate limit", { networkRateLimitBlocks: 5 }, async (world) => {
    await world.included({ type: "registerNetwork", hotkey: stranger.address }, coldkey);
    const again = { type: "registerNetwork", hotkey: keyOf(20).address } as const;
    await world.refused(again, coldkey, "NetworkTxRateLimitExceeded");
    await world.blocks(5);
    await world.included(again, coldkey);
  });
}

function seatCases(test: ChainCase): void {
  const small = { hyperparameters: { maxUids: 3, immunityPeriodBlocks: 5 } };
  test(
    "a full subnet replaces its lowest earner, never the owner, the oldest of equals first",
    small,
    async (world) => {
      await world.included(register(miner), coldkey);
      await world.included(register(otherMiner), coldkey);
      await world.blocks(6);
      await world.included(register(validator), coldkey);
      const { neurons } = await world.chain.metagraph();
      assertEquals(
        neurons.map(({ hotkey }) => hotkey),
        [ownerHotkey, validator, otherMiner].map(({ address }) => address),
      );
    },
  );

  const crowded = { hyperparameters: { maxUids: 2, immunityPeriodBlocks: 100, minNonImmuneUids: 1 } };
  test("a full subnet of newcomers gives up the older newcomer", crowded, async (world) => {
    await world.included(register(miner), coldkey);
    await world.included(register(otherMiner), coldkey);
    assertEquals((await world.neuron(1)).hotkey, otherMiner.address);
  });
}

function stakeCases(test: ChainCase): void {
  test("stake goes to the hotkey and comes back", {}, async (world) => {
    await world.included(register(miner), coldkey);
    const before = await world.chain.balanceOf(coldkey.address);
    await world.included({ type: "addStake", netuid, hotkey: miner.address, amountRao: tokens(40) }, coldkey);
    assertEquals((await world.neuron(1)).stakeRao, tokens(40));
    await world.included({ type: "removeStake", netuid, hotkey: miner.address, amountAlpha: tokens(15) }, coldkey);
    assertEquals((await world.neuron(1)).stakeRao, tokens(25));
    assertEquals(await world.chain.balanceOf(coldkey.address), before - tokens(25));
  });

  test("stake is refused if it is too small, too much, or for an unknown hotkey", {}, async (world) => {
    const stake = { type: "addStake", netuid, hotkey: ownerHotkey.address } as const;
    await world.refused({ ...stake, amountRao: 1_000n }, coldkey, "AmountTooLow");
    await world.refused({ ...stake, amountRao: tokens(10 ** 7) }, coldkey, "NotEnoughBalanceToStake");
    await world.refused(
      { ...stake, hotkey: stranger.address, amountRao: tokens(1) },
      coldkey,
      "HotKeyAccountNotExists",
    );
    await world.refused({ ...stake, netuid: 99, amountRao: tokens(1) }, coldkey, "SubnetNotExists");
    const unstake = { type: "removeStake", netuid, hotkey: ownerHotkey.address, amountAlpha: tokens(1) } as const;
    await world.refused(unstake, coldkey, "NotEnoughStakeToWithdraw");
  });
}

function servingCases(test: ChainCase): void {
  test("an axon is announced and found in the metagraph, over IPv4 and IPv6", {}, async (world) => {
    await world.included(serve(), ownerHotkey);
    assertEquals((await world.neuron(uids.owner)).axon, axon);
    await world.blocks(2);
    await world.included(serve({ ip: "2001:db8::7" }), ownerHotkey);
    assertEquals((await world.neuron(uids.owner)).axon, { ...axon, ip: "2001:db8::7" });
  });

  test("an axon is refused for strangers, too often, and at an unreachable address", {}, async (world) => {
    await world.refused(serve(), stranger, "HotKeyNotRegisteredInNetwork");
    await world.refused(serve({ ip: "127.0.0.1" }), ownerHotkey, ["InvalidIpAddress", "Custom(11)"]);
    await world.refused(serve({ ip: "255.255.255.255" }), ownerHotkey, ["InvalidIpAddress", "Custom(11)"]);
    await world.refused(serve({ port: 0 }), ownerHotkey, ["InvalidPort", "Custom(13)"]);
    await world.included(serve(), ownerHotkey);
    await world.refused(serve({ port: 8092 }), ownerHotkey, "ServingRateLimitExceeded");
  });

  test("an older runtime's pool refuses by number", { epochs: "legacy" }, async (world) => {
    await world.refused(serve(), stranger, "Custom(10)");
    await world.refused(serve({ ip: "127.0.0.1" }), ownerHotkey, "Custom(11)");
    await world.refused(serve({ ip: "0.0.0.0" }), ownerHotkey, "Custom(11)");
    await world.included(serve(), ownerHotkey);
    await world.refused(serve({ port: 8092 }), ownerHotkey, "Custom(12)");
    const stake = { type: "addStake", netuid, hotkey: stranger.address, amountRao: tokens(1) } as const;
    await world.refused(stake, coldkey, "Custom(4)");
  });
}
