/** Where an epoch begins: the first block whose calls are filed under it. A forecast, as every date of an epoch is (epochs.ts). */

import type { EpochState } from "../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "./epochs.ts";

/** Of the epoch under way or a later one. Null when no epoch ever runs. */
export function firstBlockOfEpoch(state: EpochState, epoch: number): number | null {
  if (state.tempoBlocks === 0) return null;
  if (state.formula === "legacy") return Math.max(0, epoch * (state.tempoBlocks + 1) - state.netuid - 1);
  let now: EpochState = state;
  while (epochIndex(now) < epoch) now = stateAt(now, nextEpochBlock(now) ?? now.block); // not null: the tempo is not 0
  return now.formula === "stateful" ? now.lastEpochBlock : null;
}
