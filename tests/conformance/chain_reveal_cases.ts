/** Commit and reveal: salted commits that their sender opens, timelocked ones that open by themselves. */

import { assertEquals } from "@std/assert";
import { present } from "../../core/assert.ts";
import type { ChainCall } from "../../chain/call.ts";
import { nextEpochBlock, revealRound } from "../../chain/epochs/epochs.ts";
import { encryptTimelocked, timelockRandomBytes } from "../../chain/timelock/timelock.ts";
import { encodeWeightsPayload } from "../../chain/timelock/weights_payload.ts";
import { saltedCommitHash } from "../../chain/weights/salted_commit.ts";
import {
  type ChainCase,
  type ChainWorld,
  keyOf,
  miner,
  netuid,
  otherMiner,
  uids,
  validator,
  weightsCall,
} from "./chain_world.ts";

const hidden = { hyperparameters: { isCommitReveal: true, tempoBlocks: 20 } };
const row = { uids: [uids.miner, uids.otherMiner], values: [1, 3] };
const stored = [{ uid: uids.miner, value: 21_845 }, { uid: uids.otherMiner, value: 65_535 }];
const salt = [1, 2, 3];

const reveal = (change: Partial<Extract<ChainCall, { type: "revealWeights" }>> = {}): ChainCall => ({
  ...{ type: "revealWeights", netuid, mechanism: 0, ...row, salt, versionKey: 0n },
  ...change,
});

const commitOf = (salts: readonly number[]): ChainCall => {
  const { publicKey } = validator;
  const hash = saltedCommitHash({ publicKey, netuid, mechanism: 0, row, salt: salts, versionKey: 0n });
  return { type: "commitWeights", netuid, mechanism: 0, hash };
};

/** Weights sealed to the round the roles would choose now, by whom and to whom a test likes. */
async function sealed(world: ChainWorld, change: { hotkey?: Uint8Array | null; round?: bigint } = {}) {
  const { revealPeriodEpochs, blockMs, commitRevealVersion } = await world.chain.parameters();
  const { beacon } = await world.chain.facts();
  const state = await world.chain.epochState();
  const headSeenMs = world.ledger.head().timestampMs;
  const due = revealRound({ state, revealPeriodEpochs, headSeenMs, blockMs, beacon });
  if (!due.ok) throw new Error(due.reason);
  const round = change.round ?? due.value.round;
  const hotkey = change.hotkey === undefined ? validator.publicKey : change.hotkey;
  const plaintext = encodeWeightsPayload({ hotkey, ...row, versionKey: 0n });
  const commit = encryptTimelocked({ plaintext, round, beacon, random: new Uint8Array(timelockRandomBytes).fill(5) });
  return {
    call: {
      type: "commitTimelockedWeights",
      netuid,
      mechanism: 0,
      commit,
      revealRound: round,
      commitRevealVersion,
    } as const,
    revealBlock: due.value.block,
  };
}

const rowOf = (world: ChainWorld) => world.chain.weightsOf({ uid: uids.validator, mechanism: 0 });

export function revealCases(test: ChainCase): void {
  saltedCases(test);
  timelockedCases(test);
  filingCases(test);
}

function saltedCases(test: ChainCase): void {
  for (const epochs of ["stateful", "legacy"] as const) {
    const words = epochs === "legacy"
      ? { tooEarly: "Custom(17)", noCommit: "Custom(16)" }
      : { tooEarly: "RevealTooEarly", noCommit: "NoWeightsCommitFound" };
    test(
      `${epochs}: a salted commit is revealed in its epoch, and in no other`,
      { ...hidden, epochs },
      async (world) => {
        await world.populate();
        const block = await world.included(commitOf(salt), validator);
        assertEquals((await world.neuron(uids.validator)).lastUpdateBlock, block);
        const [pending] = await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 });
        assertEquals([pending?.committedBlock, pending?.revealRound], [block, null]);
        await world.refused(reveal(), validator, words.tooEarly);
        await world.untilBlock((pending?.revealFromBlock ?? 0) - 1);
        assertEquals(await rowOf(world), []);
        await world.refused(reveal({ salt: [9] }), validator, words.noCommit);
        await world.included(reveal(), validator);
        assertEquals(await rowOf(world), stored);
        assertEquals((await world.neuron(uids.validator)).lastUpdateBlock, block, "the commit counts, not the reveal");
        assertEquals(await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 }), []);
        await world.refused(reveal(), validator, words.noCommit);
      },
    );
  }

  test("an unrevealed commit expires", hidden, async (world) => {
    await world.populate();
    await world.included(commitOf(salt), validator);
    await world.epoch();
    await world.epoch();
    assertEquals(await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 }), []);
    await world.refused(reveal(), validator, "RevealTooEarly");
    assertEquals(await rowOf(world), []);
  });

  test("commits are limited in pace and in number", hidden, async (world) => {
    await world.populate();
    await world.included(commitOf([0]), validator);
    await world.refused(commitOf([1]), validator, "CommittingWeightsTooFast");
    await world.refused(commitOf([1]), otherWorldly, "HotKeyNotRegisteredInSubNet");
    world.ledger.setHyperparameters(netuid, { weightsRateLimitBlocks: 0, tempoBlocks: 100 });
    await world.blocks(1);
    for (let i = 1; i < 10; i++) await world.included(commitOf([i]), validator);
    await world.refused(commitOf([10]), validator, "TooManyUnrevealedCommits");
    assertEquals((await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 })).length, 10);
  });
}

const otherWorldly = keyOf(30);

function filingCases(test: ChainCase): void {
  test("legacy: a timelocked commit in the epoch's own block is of the next epoch", {
    ...hidden,
    epochs: "legacy",
  }, async (world) => {
    await world.populate();
    await world.untilBlock(present(nextEpochBlock(await world.chain.epochState()), "There are epochs") - 1);
    const { call, revealBlock } = await sealed(world);
    const block = await world.included(call, validator);
    assertEquals((await world.chain.epochState()).blocksSinceLastStep, 0, "the epoch ran in this block");
    await world.untilBlock(revealBlock - 1);
    assertEquals(await rowOf(world), []);
    await world.blocks(1);
    assertEquals(await rowOf(world), stored);
    const { tempoBlocks } = await world.chain.parameters();
    assertEquals(revealBlock, block + 1 + tempoBlocks + 1, "not in the epoch that begins with the next block");
  });

  test(
    "the blocks tell which of them hold a call of ours, also where storage has forgotten it",
    hidden,
    async (world) => {
      await world.populate();
      const { call, revealBlock } = await sealed(world);
      const afterBlock = world.ledger.head().number;
      const committed = await world.included(call, validator);
      await world.refused(call, validator, "CommittingWeightsTooFast");
      await world.included(call, miner);
      world.ledger.setHyperparameters(netuid, { isCommitReveal: false });
      await world.untilBlock(revealBlock);
      assertEquals((await world.neuron(uids.validator)).lastUpdateBlock, revealBlock, "the chain's own stamp");
      await world.blocks(3); // the rate limit counts from the stamp
      const plain = await world.included(weightsCall({ uids: [uids.miner], values: [1] }), validator);
      const toBlock = world.ledger.head().number;
      const search = { hotkey: validator.address, mechanism: 0, afterBlock, toBlock };
      assertEquals(await world.chain.weightCallsOf(search), [committed, plain]);
      assertEquals(await world.chain.weightCallsOf({ ...search, afterBlock: committed, toBlock: plain - 1 }), []);
      assertEquals(await world.chain.weightCallsOf({ ...search, mechanism: 1 }), []);
      assertEquals(
        await world.chain.weightCallsOf({ ...search, toBlock: toBlock + 1 }),
        null,
        "there is no such block yet",
      );
    },
  );
}

function timelockedCases(test: ChainCase): void {
  for (const epochs of ["stateful", "legacy"] as const) {
    test(
      `${epochs}: a timelocked commit opens by itself in the predicted block`,
      { ...hidden, epochs },
      async (world) => {
        await world.populate();
        const { call, revealBlock } = await sealed(world);
        const block = await world.included(call, validator);
        assertEquals(await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 }), [
          { committedBlock: block, revealRound: call.revealRound, revealFromBlock: null },
        ]);
        await world.untilBlock(revealBlock - 1);
        assertEquals(await rowOf(world), []);
        await world.blocks(1);
        assertEquals(await rowOf(world), stored);
        assertEquals(await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 }), []);
      },
    );
  }

  test("the payload without a hotkey still opens, one with another's does not", hidden, async (world) => {
    await world.populate();
    const older = await sealed(world, { hotkey: null });
    const copied = await sealed(world, { hotkey: otherMiner.publicKey });
    await world.included(older.call, validator);
    await world.included(copied.call, miner);
    await world.untilBlock(older.revealBlock);
    assertEquals(await rowOf(world), stored);
    assertEquals(await world.chain.weightsOf({ uid: uids.miner, mechanism: 0 }), []);
    const dropped = world.ledger.eventsOf(older.revealBlock).filter(({ type }) => type === "weightsDropped");
    assertEquals(dropped.map((event) => "hotkey" in event && event.hotkey), [miner.address]);
  });

  test("a commit waits for its pulse within its epoch and is dropped after it", hidden, async (world) => {
    await world.populate();
    const { call, revealBlock } = await sealed(world);
    await world.included({ ...call, revealRound: call.revealRound + 1_000n }, validator);
    await world.untilBlock(revealBlock + 5);
    assertEquals((await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 })).length, 1);
    await world.epoch();
    assertEquals(await world.chain.pendingCommits({ hotkey: validator.address, mechanism: 0 }), []);
    assertEquals(await rowOf(world), []);
  });

  test("a timelocked commit needs a round to come and the chain's version", hidden, async (world) => {
    await world.populate();
    const { call } = await sealed(world);
    await world.refused({ ...call, revealRound: 1n }, validator, ["InvalidRevealRound", "Other"]);
    await world.refused({ ...call, commitRevealVersion: 3 }, validator, "IncorrectCommitRevealVersion");
    await world.included({ ...call, commit: new Uint8Array(100) }, validator);
    await world.epoch();
    await world.epoch();
    assertEquals(await rowOf(world), []);
  });
}
