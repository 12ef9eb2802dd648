/**
 * Predicts when a subnet's epochs run, under the chain's two rules, from one state.
 *
 * An `EpochState` is the content of storage after `block`. Legacy (before spec 423): an epoch runs in the block where
 * (block + netuid + 2) is a multiple of tempo + 1. Stateful: it runs when the owner requests it, when `tempo` blocks
 * have passed, or at the latest after 50,400 blocks. The chain may defer an epoch by a block or more if too many are
 * due at once, and an owner may change the tempo, so predictions are temporary: read the state again each block.
 *
 * A block works in this order: reveal timelocked weights, run the epoch, execute calls. So a reveal in the epoch's own
 * block already sees the next index, and a call in that block belongs to the new epoch.
 */

import { assert } from "../../core/assert.ts";
import { type BeaconClock, roundAt } from "../timelock/beacon.ts";
import type { EpochState } from "../chain.ts";

export type StatefulEpochState = Extract<EpochState, { formula: "stateful" }>;
type LegacyEpochState = Extract<EpochState, { formula: "legacy" }>;

export type Predicted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: "tempoIsZero" | "beyondHorizon" };

const safetyNetBlocks = 50_400; // the chain's longest tempo
const securityBlocks = 3; // for the pulse to be on the chain before the reveal needs it
const horizonEpochs = 1_000;

/** The first block after `state.block` in which an epoch runs; null when the tempo is 0: this subnet runs none. */
export function nextEpochBlock(state: EpochState): number | null {
  const { tempoBlocks, block } = state;
  if (tempoBlocks === 0) return null;
  if (state.formula === "legacy") {
    const period = tempoBlocks + 1;
    return block + 1 + tempoBlocks - ((block + state.netuid + 2) % period);
  }
  const { pendingEpochAtBlock, lastEpochBlock, blocksSinceLastStep } = state;
  const byTempo = lastEpochBlock + tempoBlocks;
  const byOwner = pendingEpochAtBlock > 0 ? pendingEpochAtBlock : Infinity;
  const byNet = block + safetyNetBlocks + 1 - blocksSinceLastStep;
  return Math.max(block + 1, Math.min(byTempo, byOwner, byNet));
}

/** Against which reveals in `state.block` are checked. */
export function epochIndex(state: EpochState): number {
  if (state.formula === "stateful") return state.epochIndex;
  return Math.floor((state.block + state.netuid + 1) / (state.tempoBlocks + 1));
}

/**
 * The epoch under which a commit of `state.block` is filed. In the legacy rule's own epoch block the index is still the
 * old one, and only timelocked commits are filed under the next (subtensor, weights.rs, `should_run_epoch`).
 */
export function filedEpoch(state: EpochState, mode: "salted" | "timelocked"): number {
  const isEarly = state.formula === "legacy" && mode === "timelocked" && state.blocksSinceLastStep === 0;
  return epochIndex(state) + (isEarly ? 1 : 0);
}

/** The state after `toBlock`, assuming no tempo change and no requested epoch. */
export function stateAt(state: EpochState, toBlock: number): EpochState {
  assert(
    toBlock >= state.block,
    `Cannot go back in epochs as 'toBlock' must be at least ${state.block}: current value is ${toBlock}`,
  );
  if (state.formula === "legacy") {
    const lastBlock = legacyEpochUpTo(state, toBlock) ?? state.block - state.blocksSinceLastStep;
    return { ...state, block: toBlock, blocksSinceLastStep: toBlock - lastBlock };
  }
  let now = state;
  for (let next = nextEpochBlock(now); next !== null && next <= toBlock; next = nextEpochBlock(now)) {
    now = afterEpoch(now, next);
  }
  return { ...now, block: toBlock, blocksSinceLastStep: now.blocksSinceLastStep + toBlock - now.block };
}

function legacyEpochUpTo(state: LegacyEpochState, toBlock: number): number | null {
  if (state.tempoBlocks === 0) return null;
  const period = state.tempoBlocks + 1;
  const epochBlock = toBlock - (toBlock + state.netuid + 2) % period;
  return epochBlock > state.block ? epochBlock : null;
}

function afterEpoch(state: StatefulEpochState, block: number): StatefulEpochState {
  const epochIndex = state.epochIndex + 1;
  return { ...state, block, epochIndex, lastEpochBlock: block, pendingEpochAtBlock: 0, blocksSinceLastStep: 0 };
}

/**
 * The first block in which the chain tries to reveal a timelocked commit made in the block after `state.block`: commits
 * of epoch e are revealed in epoch e + period.
 */
export function firstRevealBlock(state: EpochState, revealPeriodEpochs: number): Predicted<number> {
  if (state.tempoBlocks === 0) return { ok: false, reason: "tempoIsZero" };
  if (revealPeriodEpochs > horizonEpochs) return { ok: false, reason: "beyondHorizon" };
  if (state.formula === "legacy") {
    const committed = filedEpoch(stateAt(state, state.block + 1), "timelocked");
    const first = (committed + revealPeriodEpochs) * (state.tempoBlocks + 1) - state.netuid - 1;
    return { ok: true, value: Math.max(first, state.block + 1) };
  }
  const target = indexSeenIn(state, state.block + 1) + revealPeriodEpochs;
  let now = state;
  for (;;) {
    const epochBlock = nextEpochBlock(now)!; // not null: the tempo is not 0
    if (now.epochIndex === target && now.block + 1 < epochBlock) return { ok: true, value: now.block + 1 };
    if (indexSeenIn(now, epochBlock) === target) return { ok: true, value: epochBlock };
    now = afterEpoch(now, epochBlock);
  }
}

/** The index that reveals in `block` see, before its epoch runs. The safety net's counter has not increased yet. */
function indexSeenIn(state: StatefulEpochState, block: number): number {
  const isAsked = state.pendingEpochAtBlock > 0 && block >= state.pendingEpochAtBlock;
  const isCaught = state.blocksSinceLastStep + block - 1 - state.block > safetyNetBlocks;
  const isOver = block - state.lastEpochBlock >= state.tempoBlocks;
  return state.epochIndex + (isAsked || isCaught || isOver ? 1 : 0);
}

/** Its pulse is on the chain when the chain reveals a commit that is sent now. */
export function revealRound(options: {
  readonly state: EpochState;
  readonly revealPeriodEpochs: number;
  readonly headSeenMs: number; // when `state.block` was seen
  readonly blockMs: number;
  readonly beacon: BeaconClock;
}): Predicted<{ readonly block: number; readonly round: bigint }> {
  const { state, revealPeriodEpochs, headSeenMs, blockMs, beacon } = options;
  const first = firstRevealBlock(state, revealPeriodEpochs);
  if (!first.ok) return first;
  const dueMs = headSeenMs + (first.value + securityBlocks - state.block) * blockMs;
  return { ok: true, value: { block: first.value, round: roundAt(beacon, dueMs) } };
}

/** The first block whose calls are filed under the current or a later epoch. Null if no epoch ever runs. */
export function firstBlockOfEpoch(state: EpochState, epoch: number): number | null {
  if (state.tempoBlocks === 0) return null;
  if (state.formula === "legacy") return Math.max(0, epoch * (state.tempoBlocks + 1) - state.netuid - 1);
  let now: EpochState = state;
  while (epochIndex(now) < epoch) now = stateAt(now, nextEpochBlock(now) ?? now.block); // not null: the tempo is not 0
  return now.formula === "stateful" ? now.lastEpochBlock : null;
}

/** The first block in which a past block's commits are revealed. Null if no epoch ever runs. */
export function revealBlockOf(
  state: EpochState,
  { committedBlock, revealPeriodEpochs }: { committedBlock: number; revealPeriodEpochs: number },
): number | null {
  if (state.tempoBlocks === 0) return null;
  return firstBlockOfEpoch(state, epochOfPastBlock(state, committedBlock) + revealPeriodEpochs);
}

/** The chain does not store all stateful epochs: those before the last are assumed to have had the current length. */
function epochOfPastBlock(state: EpochState, block: number): number {
  if (state.formula === "legacy") return epochIndex({ ...state, block });
  return state.epochIndex - Math.max(0, Math.ceil((state.lastEpochBlock - block) / state.tempoBlocks));
}
