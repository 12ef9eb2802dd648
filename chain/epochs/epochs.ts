/**
 * Predicts a subnet's epochs.
 *
 * Legacy (before spec 423): in blocks where (block + netuid + 2) is a multiple of tempo + 1. Stateful: on the owner's
 * request, after `tempo` blocks, or after 50,400 at the latest. Epochs may be deferred and tempos changed, so read the
 * state again each block.
 *
 * A block reveals timelocked weights, runs the epoch, then executes calls: a reveal in the epoch's own block already
 * sees the next index, and its calls belong to the new epoch.
 */

import { assert } from "../../core/assert.ts";
import { type BeaconClock, roundAt } from "../timelock/beacon.ts";
import type { EpochState } from "../chain.ts";

export type StatefulEpochState = Extract<EpochState, { formula: "stateful" }>;
type LegacyEpochState = Extract<EpochState, { formula: "legacy" }>;

type Predicted<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: "tempoIsZero" | "beyondHorizon" };

const safetyNetBlocks = 50_400; // the chain's longest tempo
const securityBlocks = 3; // the pulse must be on the chain before the reveal
const horizonEpochs = 1_000;

/** Null if the tempo is 0. */
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

export function epochIndex(state: EpochState): number {
  if (state.formula === "stateful") return state.epochIndex;
  return Math.floor((state.block + state.netuid + 1) / (state.tempoBlocks + 1));
}

/**
 * Where a commit of `state.block` belongs. In the legacy rule's own epoch block only timelocked ones belong to the next
 * epoch (subtensor, weights.rs, `should_run_epoch`).
 */
export function filedEpoch(state: EpochState, mode: "salted" | "timelocked"): number {
  const isEarly = state.formula === "legacy" && mode === "timelocked" && state.blocksSinceLastStep === 0;
  return epochIndex(state) + (isEarly ? 1 : 0);
}

/** Assumes no new tempo and no requested epoch. */
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

/** For a commit of the next block: those of epoch e are revealed in e + period. */
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
    const epochBlock = nextEpochBlock(now)!; // the tempo is not 0
    if (now.epochIndex === target && now.block + 1 < epochBlock) return { ok: true, value: now.block + 1 };
    if (indexSeenIn(now, epochBlock) === target) return { ok: true, value: epochBlock };
    now = afterEpoch(now, epochBlock);
  }
}

/** Before the block's epoch runs. The safety net's counter has not increased yet. */
function indexSeenIn(state: StatefulEpochState, block: number): number {
  const isAsked = state.pendingEpochAtBlock > 0 && block >= state.pendingEpochAtBlock;
  const isCaught = state.blocksSinceLastStep + block - 1 - state.block > safetyNetBlocks;
  const isOver = block - state.lastEpochBlock >= state.tempoBlocks;
  return state.epochIndex + (isAsked || isCaught || isOver ? 1 : 0);
}

export function revealRound(options: {
  readonly state: EpochState;
  readonly revealPeriodEpochs: number;
  readonly headSeenMs: number;
  readonly blockMs: number;
  readonly beacon: BeaconClock;
}): Predicted<{ readonly block: number; readonly round: bigint }> {
  const { state, revealPeriodEpochs, headSeenMs, blockMs, beacon } = options;
  const first = firstRevealBlock(state, revealPeriodEpochs);
  if (!first.ok) return first;
  const dueMs = headSeenMs + (first.value + securityBlocks - state.block) * blockMs;
  return { ok: true, value: { block: first.value, round: roundAt(beacon, dueMs) } };
}

/** The first block of this or a later epoch. Null if no epoch ever runs. */
export function firstBlockOfEpoch(state: EpochState, epoch: number): number | null {
  if (state.tempoBlocks === 0) return null;
  if (state.formula === "legacy") return Math.max(0, epoch * (state.tempoBlocks + 1) - state.netuid - 1);
  let now: EpochState = state;
  while (epochIndex(now) < epoch) now = stateAt(now, nextEpochBlock(now) ?? now.block); // the tempo is not 0
  return now.formula === "stateful" ? now.lastEpochBlock : null;
}

/** Null if no epoch ever runs. */
export function revealBlockOf(
  state: EpochState,
  { committedBlock, revealPeriodEpochs }: { committedBlock: number; revealPeriodEpochs: number },
): number | null {
  if (state.tempoBlocks === 0) return null;
  return firstBlockOfEpoch(state, epochOfPastBlock(state, committedBlock) + revealPeriodEpochs);
}

/** The chain does not store old stateful epochs: all count as long as the current one. */
function epochOfPastBlock(state: EpochState, block: number): number {
  if (state.formula === "legacy") return epochIndex({ ...state, block });
  return state.epochIndex - Math.max(0, Math.ceil((state.lastEpochBlock - block) / state.tempoBlocks));
}
