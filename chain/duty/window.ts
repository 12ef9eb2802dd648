/**
 * When a validator sends its weights: once per epoch, late enough that the scores are fresh, early enough for retries, and not all
 * validators in one block.
 *
 * Counted in blocks from the epoch state of the newest read, so an owner's request, a new tempo or a late epoch moves
 * the window at once. The relevant block is the one in which a call lands, at the earliest the one after the head.
 */

import { keyOf } from "../../core/prng.ts";
import type { Address } from "../call.ts";
import type { EpochState } from "../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "../epochs/epochs.ts";

export interface SendWindow {
  readonly landingBlock: number; // where a call sent now lands
  readonly epochIndex: number; // of the landing block
  readonly epochStartBlock: number; // the epoch ran in this block, before its calls
  readonly startBlock: number; // first block to land in
  readonly endBlock: number; // the next epoch runs in this block, before its calls: too late
}

const marginBlocksMax = 32; // for retries: 6 min of blocks of 12 s
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

/** How many blocks before an epoch this validator starts to send: the margin plus its own offset in the spread. */
export function leadBlocks(tempoBlocks: number, hotkey: Address): number {
  const margin = Math.min(marginBlocksMax, Math.max(2, Math.floor(tempoBlocks / 4)));
  const spread = Math.min(spreadBlocksMax, Math.floor(tempoBlocks / 4));
  return margin + keyOf(0, "weights window", hotkey)[0]! % (spread + 1);
}
