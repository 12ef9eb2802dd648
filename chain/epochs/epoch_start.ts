/** From blocks to epochs and back: where an epoch begins, and when a commit is revealed. Forecasts, as every date of an epoch is (epochs.ts). */

import type { EpochState } from "../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "./epochs.ts";

/** The first block whose calls are filed under the epoch, which is under way or a later one. Null when no epoch ever runs. */
export function firstBlockOfEpoch(state: EpochState, epoch: number): number | null {
  if (state.tempoBlocks === 0) return null;
  if (state.formula === "legacy") return Math.max(0, epoch * (state.tempoBlocks + 1) - state.netuid - 1);
  let now: EpochState = state;
  while (epochIndex(now) < epoch) now = stateAt(now, nextEpochBlock(now) ?? now.block); // not null: the tempo is not 0
  return now.formula === "stateful" ? now.lastEpochBlock : null;
}

/** The first block in which what was committed in a past block is revealed. Null when no epoch ever runs. */
export function revealBlockOf(
  state: EpochState,
  { committedBlock, revealPeriodEpochs }: { committedBlock: number; revealPeriodEpochs: number },
): number | null {
  if (state.tempoBlocks === 0) return null;
  return firstBlockOfEpoch(state, epochOfPastBlock(state, committedBlock) + revealPeriodEpochs);
}

/** Stateful epochs are not all remembered: those before the last are taken to have been as long as they are now. */
function epochOfPastBlock(state: EpochState, block: number): number {
  if (state.formula === "legacy") return epochIndex({ ...state, block });
  return state.epochIndex - Math.max(0, Math.ceil((state.lastEpochBlock - block) / state.tempoBlocks));
}
