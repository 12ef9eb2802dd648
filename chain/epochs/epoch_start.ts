/**
 * Converts between blocks and epochs: where an epoch begins, and when a commit is revealed. These are predictions, like
 * all epoch times (epochs.ts).
 */

import type { EpochState } from "../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "./epochs.ts";

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
