/**
 * Settles an unanswered call from the chain: it has landed, or it can no longer land.
 *
 * Storage usually settles it. Where the chain's reveal of an older commit may have stamped the same field, the blocks
 * themselves are read, each once. Nothing is sent until this is settled, because a second call could land besides the first.
 */

import type { Neuron } from "../chain.ts";
import { epochIndex } from "../epochs/epochs.ts";
import type { Attempt, BlockRange, ChainView, DutyRecord, DutyState } from "./duty.ts";
import { mayHaveRevealed } from "./open_commits.ts";

const passagesMax = 16; // more than the number of commits the chain keeps

/** The blocks needed to settle an unanswered call; null if storage suffices for now. */
export function blocksToSearch(state: DutyState, view: ChainView, own: Neuron): BlockRange | null {
  const { attempt } = state;
  if (attempt === null || !attempt.isUnknown || !isAmbiguous(state, attempt, { view, own })) return null;
  const toBlock = Math.min(view.metagraph.block, lastBlockOf(state, attempt));
  return toBlock > attempt.searchedBlock ? { afterBlock: attempt.searchedBlock, toBlock } : null;
}

/** Decides an unanswered attempt from the chain; leaves it open while both outcomes are possible. */
export function settleAttempt(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  const { attempt } = state;
  if (attempt === null || !attempt.isUnknown) return [];
  const landedBlock = landedBlockOf(state, attempt, { view, own });
  if (landedBlock !== null) return [land(state, attempt, landedBlock)];
  if (view.metagraph.block < lastBlockOf(state, attempt)) return [];
  state.attempt = null;
  return [{ type: "lost", purpose: attempt.purpose, undoneBlock: null }];
}

/** Records an attempt that is in a block. */
export function land(state: DutyState, attempt: Attempt, block: number): DutyRecord {
  state.attempt = null;
  if (attempt.purpose === "reveal") {
    const passage = state.passages.find(({ landedBlock }) => landedBlock === attempt.passage.landedBlock);
    if (passage !== undefined) Object.assign(passage, { isRevealSent: true, revealedBlock: block });
  } else {
    const { passage } = attempt;
    const revealEpoch = passage.revealEpoch + (block >= passage.nextFiledBlock ? 1 : 0);
    state.passages.push({ ...passage, landedBlock: block, revealEpoch });
    if (state.passages.length > passagesMax) state.passages.shift();
    state.landedScoresRound = Math.max(state.landedScoresRound, attempt.passage.scoresRound);
    state.lastLandedBlock = block;
    state.lastLandedAfterBlock = attempt.seenBlock;
  }
  return { type: "landed", purpose: attempt.purpose, block };
}

interface Look {
  readonly view: ChainView;
  readonly own: Neuron;
}

const lastBlockOf = ({ options }: DutyState, { headBlock }: Attempt): number => headBlock + options.settleBlocks;

const newCommit = ({ commits }: ChainView, { seenBlock }: Attempt) =>
  commits.find(({ committedBlock }) => committedBlock > seenBlock);

/** A commit stays in storage until it is revealed. */
const wouldBeStored = ({ epoch }: ChainView, { passage }: Attempt): boolean =>
  passage.mode !== "plain" && epochIndex(epoch) < passage.revealEpoch;

/** Whether an update of our neuron may be our call or the chain's reveal. */
function isAmbiguous(state: DutyState, attempt: Attempt, { view, own }: Look): boolean {
  const isOurs = newCommit(view, attempt) !== undefined;
  if (attempt.purpose === "reveal" || isOurs || !isUpdated(attempt, own) || wouldBeStored(view, attempt)) return false;
  return mayHaveRevealed(state, view);
}

/** An update in blocks without a call of ours was the chain's own. */
function isUpdated({ seenBlock, headBlock, searchedBlock }: Attempt, { lastUpdateBlock }: Neuron): boolean {
  return lastUpdateBlock > (searchedBlock > headBlock ? searchedBlock : seenBlock);
}

function landedBlockOf(state: DutyState, attempt: Attempt, { view, own }: Look): number | null {
  if (attempt.purpose === "reveal") {
    const { landedBlock } = attempt.passage;
    const isOpen = view.commits.some((commit) => commit.committedBlock === landedBlock);
    return isOpen || view.metagraph.block <= attempt.headBlock ? null : view.metagraph.block;
  }
  const commit = newCommit(view, attempt);
  if (commit !== undefined) return commit.committedBlock;
  const { calls } = view;
  if (calls?.landedBlocks != null) {
    attempt.searchedBlock = calls.range.toBlock;
    const isStamp = calls.landedBlocks.length === 0 && !isUpdated(attempt, own);
    if (isStamp) state.revealedBlock = own.lastUpdateBlock; // the blocks hold no call of ours, so the chain made the update
    return calls.landedBlocks[0] ?? null;
  }
  if (wouldBeStored(view, attempt) || !isUpdated(attempt, own)) return null;
  // Certainly ours, or the blocks cannot be read: then ours may be hidden by the chain's reveal of an older commit.
  return Math.min(own.lastUpdateBlock, lastBlockOf(state, attempt));
}
