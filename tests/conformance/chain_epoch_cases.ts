/** Epochs: when they run, and what weights turn into. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { nextEpochBlock } from "../../chain/epochs/epochs.ts";
import { heldRao } from "../../chain/local/epoch/emission.ts";
import { isBurned, paidInLastEpoch } from "../../chain/duty/epoch_pay.ts";
import {
  type ChainCase,
  ChainWorld,
  miner,
  netuid,
  ownerColdkey,
  stranger,
  tokens,
  uids,
  validator,
  weightsCall,
} from "./chain_world.ts";

export function epochCases(test: ChainCase): void {
  test("it says which chain it is, and by whose rounds it reveals", {}, async (world) => {
    const { genesisHash, beacon } = world.ledger;
    assertEquals(await world.chain.facts(), { genesisHash: `0x${genesisHash.toHex()}`, beacon: beacon.beacon });
  });

  for (const epochs of ["stateful", "legacy"] as const) {
    test(`${epochs} epochs run in the predicted blocks`, { epochs }, async (world) => {
      for (let round = 0; round < 3; round++) {
        const predicted = nextEpochBlock(await world.chain.epochState());
        await world.epoch();
        assertEquals(world.ledger.head().number, predicted);
      }
    });
  }

  test("an epoch turns weights into incentive, dividends and stake", {}, async (world) => {
    await world.populate();
    await world.included(weightsCall({ uids: [uids.miner, uids.otherMiner], values: [1, 3] }), validator);
    const before = await world.chain.metagraph();
    await world.epoch();
    const { neurons } = await world.chain.metagraph();
    assertEquals(neurons.map(({ incentive }) => incentive), [0, 0, 16_383, 49_151]);
    assertEquals(neurons.map(({ dividends }) => dividends), [0, 65_535, 0, 0]);
    const earned = neurons.map(({ stakeRao }, uid) => stakeRao - (before.neurons[uid]?.stakeRao ?? 0n));
    assertEquals(earned.slice(1), neurons.slice(1).map(({ emissionRao }) => emissionRao));
    const tempo = BigInt((await world.chain.parameters()).tempoBlocks);
    assertEquals(earned[0], tokens(18) * tempo / 100n);
    const missing = tokens(1) * tempo - earned.reduce((sum, rao) => sum + rao, 0n);
    assert(missing >= 0n && missing < 10n, `${missing} rao of an epoch were paid to nobody`);
  });

  payCases(test);

  test("a validator silent beyond the cutoff is inactive and earns nothing", {
    hyperparameters: { activityCutoffBlocks: 15 },
  }, async (world) => {
    await world.populate();
    await world.included(weightsCall({ uids: [uids.miner], values: [1] }), validator);
    await world.epoch();
    assertEquals((await world.neuron(uids.validator)).isActive, true);
    assertNotEquals((await world.neuron(uids.miner)).incentive, 0);
    await world.epoch();
    await world.epoch();
    assertEquals((await world.neuron(uids.validator)).isActive, false);
    assertEquals((await world.neuron(uids.miner)).incentive, 0);
  });

  test("every token is somewhere, after registrations, epochs and burns", {}, async (world) => {
    await world.populate();
    await world.included(
      weightsCall({ uids: [uids.owner, uids.miner, uids.otherMiner], values: [3, 3, 1] }),
      validator,
    );
    await world.epoch();
    await world.blocks(3);
    assertIssued(world);
  });
}

function payCases(test: ChainCase): void {
  test(
    "what an epoch paid is in the stake, and not what it allotted to a hotkey of the owner's coldkey",
    {},
    async (world) => {
      await world.populate();
      await world.included({ type: "burnedRegister", netuid, hotkey: stranger.address }, ownerColdkey);
      await world.included(weightsCall({ uids: [uids.miner, uids.owner, 4], values: [1, 1, 2] }), validator);
      await world.epoch();
      const { chain } = world;
      const [{ neurons, block }, parameters, epoch] = [
        await chain.metagraph(),
        await chain.parameters(),
        await chain.epochState(),
      ];
      const paid = [uids.miner, uids.owner, 4].map((uid) =>
        paidInLastEpoch(chain, { own: neurons[uid]!, parameters, epoch })
      );
      const { emissionRao } = neurons[uids.miner]!;
      assertEquals(await Promise.all(paid), [emissionRao, 0n, 0n]);
      assertEquals([uids.miner, uids.owner, 4].map((uid) => isBurned(neurons[uid]!, parameters)), [false, true, true]);
      assert(neurons[4]!.emissionRao > emissionRao, "the metagraph lists what was burned as if it was paid");
      const alphaAt = (at: number) => chain.alphaOf({ hotkey: miner.address, block: at });
      assertEquals([await alphaAt(block), await alphaAt(block - 1), await alphaAt(block + 1)], [emissionRao, 0n, null]);
    },
  );
}

function assertIssued(world: ChainWorld): void {
  assertEquals(world.ledger.storage("Balances.TotalIssuance", []), heldRao(world.ledger.state));
}
