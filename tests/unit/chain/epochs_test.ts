/** Epochs predicted ahead, against the chain's rule run block by block, and against the official library's reveal blocks. */

import { assertEquals } from "@std/assert";
import type { EpochState } from "../../../chain/chain.ts";
import {
  epochIndex,
  firstRevealBlock,
  nextEpochBlock,
  revealRound,
  stateAt,
  type StatefulEpochState,
} from "../../../chain/epochs/epochs.ts";
import { quicknet } from "../../../chain/timelock/beacon.ts";
import { prngOf } from "../../support/small_prng.ts";
import vectors from "../../vectors/chain/timelock.json" with { type: "json" };

const stateful: StatefulEpochState = {
  formula: "stateful",
  netuid: 9,
  block: 120,
  tempoBlocks: 50,
  lastEpochBlock: 100,
  pendingEpochAtBlock: 0,
  epochIndex: 7,
  blocksSinceLastStep: 20,
};

/** One block by the chain's own rule, written down once more without looking ahead. */
function nextBlock(state: EpochState): { after: EpochState; ran: boolean } {
  const block = state.block + 1;
  if (state.tempoBlocks === 0) {
    return { after: { ...state, blocksSinceLastStep: state.blocksSinceLastStep + 1, block }, ran: false };
  }
  if (state.formula === "legacy") {
    const left = state.tempoBlocks - ((block + state.netuid + 1) % (state.tempoBlocks + 1));
    const blocksSinceLastStep = left === 0 ? 0 : state.blocksSinceLastStep + 1;
    return { after: { ...state, block, blocksSinceLastStep }, ran: left === 0 };
  }
  const blocksSinceLastStep = state.blocksSinceLastStep + 1;
  const ran = (state.pendingEpochAtBlock > 0 && block >= state.pendingEpochAtBlock) || blocksSinceLastStep > 50_400 ||
    block - state.lastEpochBlock >= state.tempoBlocks;
  if (!ran) return { after: { ...state, block, blocksSinceLastStep }, ran };
  const reset = { lastEpochBlock: block, pendingEpochAtBlock: 0, blocksSinceLastStep: 0 };
  return { after: { ...state, ...reset, block, epochIndex: state.epochIndex + 1 }, ran };
}

function drawn(seed: number): EpochState {
  const below = prngOf(seed);
  const tempoBlocks = [0, 1, 2, 5, 10, 37, 99][below(7)]!;
  const block = 200 + below(1_000);
  const netuid = below(70);
  if (below(2) === 0) return { formula: "legacy", netuid, block, tempoBlocks, blocksSinceLastStep: below(90) };
  const since = below(tempoBlocks + 3);
  return {
    ...{ formula: "stateful", netuid, block, tempoBlocks, lastEpochBlock: block - since, epochIndex: below(500) },
    pendingEpochAtBlock: below(3) > 0 ? 0 : block - 3 + below(2 * tempoBlocks + 6),
    blocksSinceLastStep: below(5) > 0 ? since : 50_395 + below(8),
  };
}

Deno.test("Epochs: predictions equal the chain's rule run block by block", () => {
  for (let seed = 1; seed <= 2_000; seed++) {
    const start = drawn(seed);
    let state = start;
    let first: number | null = null;
    for (let i = 0; i < 220; i++) {
      const { after, ran } = nextBlock(state);
      state = after;
      if (ran) first ??= after.block;
      assertEquals(stateAt(start, state.block), state, `seed ${seed}`);
    }
    assertEquals(nextEpochBlock(start), first, `seed ${seed}`);
  }
});

Deno.test("Epochs: legacy ones run where the real runtime ran them", () => {
  const legacy = { formula: "legacy", netuid: 2, tempoBlocks: 10, blocksSinceLastStep: 3 } as const;
  assertEquals(nextEpochBlock({ ...legacy, block: 20 }), 29);
  assertEquals(nextEpochBlock({ ...legacy, block: 28 }), 29);
  assertEquals(nextEpochBlock({ ...legacy, block: 29 }), 40);
  assertEquals(nextEpochBlock({ ...legacy, block: 40 }), 51);
  assertEquals(epochIndex({ ...legacy, block: 29 }), 2);
  assertEquals(epochIndex({ ...legacy, block: 30 }), 3);
});

Deno.test("Epochs: an owner's request comes first, and only once", () => {
  assertEquals(nextEpochBlock(stateful), 150);
  assertEquals(nextEpochBlock({ ...stateful, pendingEpochAtBlock: 131 }), 131);
  assertEquals(nextEpochBlock({ ...stateful, pendingEpochAtBlock: 90 }), 121); // overdue: the next block
  assertEquals(nextEpochBlock(stateAt({ ...stateful, pendingEpochAtBlock: 131 }, 131)), 181);
});

Deno.test("Reveal: the block equals the official library's for every state", () => {
  for (const { state, period, block, error } of vectors.reveals) {
    const found = firstRevealBlock({
      ...{ formula: "stateful", netuid: 9, block: state.current_block, tempoBlocks: state.tempo },
      ...{ lastEpochBlock: state.last_epoch_block, pendingEpochAtBlock: state.pending_epoch_at },
      ...{ epochIndex: state.subnet_epoch_index, blocksSinceLastStep: state.blocks_since_last_step },
    }, period);
    const expected = error === undefined ? { ok: true, value: block } : { ok: false, reason: error };
    assertEquals<unknown>(found, expected, JSON.stringify({ state, period }));
  }
});

Deno.test("Reveal: it happens in the first block that sees the commit's index plus the period", () => {
  for (let seed = 1; seed <= 1_000; seed++) {
    const start = drawn(seed);
    const isNearNet = start.formula === "stateful" && start.blocksSinceLastStep > 50_300; // there the library differs
    if (start.tempoBlocks === 0 || isNearNet) continue;
    const period = seed % 4;
    let state = nextBlock(start).after;
    const isFiledEarly = state.formula === "legacy" && nextBlock(start).ran; // timelocked commits alone
    const target = epochIndex(state) + period + (isFiledEarly ? 1 : 0);
    // A stateful reveal sees the index of its own block's epoch, a legacy one that of its block number: both "after".
    while (epochIndex(state) < target) state = nextBlock(state).after;
    assertEquals(firstRevealBlock(start, period), { ok: true, value: state.block }, `seed ${seed}`);
  }
});

Deno.test("Reveal: the round is that of three blocks after the reveal block, rounded down", () => {
  const at = (headSeenMs: number) =>
    revealRound({ state: stateful, revealPeriodEpochs: 1, headSeenMs, blockMs: 12_000, beacon: quicknet });
  // 150 is the epoch block; 33 blocks of 12 s are 132 rounds
  assertEquals(at(quicknet.genesisMs + 3_000_000), { ok: true, value: { block: 150, round: 1_132n } });
  assertEquals(at(quicknet.genesisMs + 3_002_999), { ok: true, value: { block: 150, round: 1_132n } });
  assertEquals(at(quicknet.genesisMs + 3_003_000), { ok: true, value: { block: 150, round: 1_133n } });
});

Deno.test("Reveal: a subnet without epochs, or a period beyond reason, has none", () => {
  assertEquals(firstRevealBlock({ ...stateful, tempoBlocks: 0 }, 1), { ok: false, reason: "tempoIsZero" });
  assertEquals(firstRevealBlock(stateful, 100_000), { ok: false, reason: "beyondHorizon" });
});
