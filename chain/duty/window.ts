/**
 * When a validator sends its weights: late enough for fresh scores, early enough for retries, spread over blocks.
 * Counted from the newest read, so a new tempo moves the window at once.
 */

import { keyOf } from "../../core/prng.ts";
import type { Address } from "../call.ts";
import type { EpochState } from "../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "../epochs/epochs.ts";

export interface SendWindow {
  readonly landingBlock: number; // of a call sent now
  readonly epochIndex: number;
  readonly epochStartBlock: number; // the epoch runs before this block's calls
  readonly startBlock: number;
  readonly endBlock: number; // the epoch runs before this block's calls
}

const marginBlocksMax = 32; // 6 min, for retries
const spreadBlocksMax = 32;

export function sendWindow(epoch: EpochState, hotkey: Address): SendWindow | null {
  const landing = stateAt(epoch, epoch.block + 1);
  const endBlock = nextEpochBlock(landing);
  if (endBlock === null) return null;
  const { tempoBlocks } = epoch;
  const epochStartBlock = landing.formula === "stateful"
    ? landing.lastEpochBlock
    : landing.block - landing.blocksSinceLastStep;
  const startBlock = Math.max(epochStartBlock, endBlock - leadBlocks(tempoBlocks, hotkey));
  return { landingBlock: landing.block, epochIndex: epochIndex(landing), epochStartBlock, startBlock, endBlock };
}

export function leadBlocks(tempoBlocks: number, hotkey: Address): number {
  const margin = Math.min(marginBlocksMax, Math.max(2, Math.floor(tempoBlocks / 4)));
  const spread = Math.min(spreadBlocksMax, Math.floor(tempoBlocks / 4));
  return margin + keyOf(0, "weights window", hotkey)[0]! % (spread + 1);
}
