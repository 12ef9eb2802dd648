/**
 * Settles an unanswered call from the chain, and checks landed ones. If the chain's reveal of an older commit may have
 * stamped the same field, the blocks themselves are read. Nothing is sent before that, because both calls could land.
 */

import type { Neuron } from "../chain.ts";
import { epochIndex } from "../epochs/epochs.ts";
import type { Attempt, BlockRange, ChainView, DutyRecord, DutyState, Passage } from "./duty.ts";
import { isPending, mayHaveRevealed } from "./open_commits.ts";
import { isSameRow, storedRowOf } from "../weights/stored_row.ts";
import { isFinal, isRemoved } from "./forks.ts";

const passagesMax = 16; // more than the commits that the chain keeps

export function blocksToSearch(state: DutyState, view: ChainView, own: Neuron): BlockRange | null {
  const { attempt } = state;
  if (attempt === null || !attempt.isUnknown || !isAmbiguous(state, attempt, { view, own })) return null;
  const toBlock = Math.min(view.metagraph.block, lastBlockOf(state, attempt));
  return toBlock > attempt.searchedBlock ? { afterBlock: attempt.searchedBlock, toBlock } : null;
}

export function settleAttempt(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  const { attempt } = state;
  if (attempt === null || !attempt.isUnknown) return [];
  const landedBlock = landedBlockOf(state, attempt, { view, own });
  if (landedBlock !== null) return [land(state, attempt, landedBlock)];
  if (view.metagraph.block < lastBlockOf(state, attempt)) return [];
  state.attempt = null;
  return [{ type: "lost", purpose: attempt.purpose, undoneBlock: null }];
}

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

const wouldBeStored = ({ epoch }: ChainView, { passage }: Attempt): boolean =>
  passage.mode !== "plain" && epochIndex(epoch) < passage.revealEpoch;

function isAmbiguous(state: DutyState, attempt: Attempt, { view, own }: Look): boolean {
  const isOurs = newCommit(view, attempt) !== undefined;
  if (attempt.purpose === "reveal" || isOurs || !isUpdated(attempt, own) || wouldBeStored(view, attempt)) return false;
  return mayHaveRevealed(state, view);
}

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
    if (isStamp) state.revealedBlock = own.lastUpdateBlock; // no block holds our call, so the chain made it
    return calls.landedBlocks[0] ?? null;
  }
  if (wouldBeStored(view, attempt) || !isUpdated(attempt, own)) return null;
  // If blocks are missing, the chain's reveal may hide our call.
  return Math.min(own.lastUpdateBlock, lastBlockOf(state, attempt));
}

const storageBlocks = 3; // for a plain row to appear

/** The new registration has another uid and no history. */
export function forgetOldRegistration(state: DutyState, own: Neuron): void {
  const isOlder = (block: number) => block < own.registeredAtBlock;
  if (state.attempt !== null && isOlder(state.attempt.headBlock)) state.attempt = null;
  const kept = state.passages.filter((passage) => !isOlder(passage.landedBlock));
  state.passages.splice(0, state.passages.length, ...kept);
  if (isOlder(state.lastLandedBlock)) state.lastLandedBlock = 0;
}

/**
 * A reveal by the chain is stamped as an update if weights are no longer hidden, even in an open window. Its block
 * identifies it, because the blocks of our calls are known.
 */
export function noteReveal(state: DutyState, view: ChainView, own: Neuron): void {
  const { attempt, lastLandedBlock } = state;
  const isStamped = attempt === null && own.lastUpdateBlock > lastLandedBlock && mayHaveRevealed(state, view);
  if (isStamped) state.revealedBlock = own.lastUpdateBlock;
  const open = view.commits.filter(({ revealRound }) => revealRound !== null).map(({ committedBlock }) =>
    committedBlock
  );
  // A commit that disappears during a call may explain an update.
  state.openCommits = attempt === null ? open : [...new Set([...state.openCommits, ...open])];
}

/** The newest row in storage also settles those it replaced, except unrevealed ones. */
export function checkPassages(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  const index = epochIndex(view.epoch);
  const found = state.passages.findLastIndex((passage) => isInStorage(passage, view, index) && isFinal(state, passage));
  const records: DutyRecord[] = [];
  if (found >= 0) {
    const { landedBlock } = state.passages[found]!;
    const kept = state.passages.filter((passage, i) => i > found || (i < found && isPending(passage, view)));
    state.passages.splice(0, state.passages.length, ...kept);
    state.checked = { landedBlock, atBlock: view.metagraph.block };
    state.alarm = null;
    records.push({ type: "rowChecked", landedBlock });
  }
  const newest = state.passages.findLastIndex((each) => isInStorage(each, view, index));
  const isMissing = (each: Passage, i: number) =>
    isOverdue(each, view, index) && (i > newest || isPending(each, view)) &&
    !isRemoved(state, { passage: each, view, own });
  for (const passage of state.passages.filter(isMissing)) {
    state.passages.splice(state.passages.indexOf(passage), 1);
    const why = whyMissing(passage, view);
    state.alarm = `weights of block ${passage.landedBlock} did not take effect: ${why}`;
    records.push({ type: "rowMissing", landedBlock: passage.landedBlock, why });
  }
  return records;
}

function isInStorage(passage: Passage, view: ChainView, index: number): boolean {
  const isDue = passage.mode === "plain"
    ? view.metagraph.block >= passage.landedBlock
    : passage.mode === "salted"
    ? passage.isRevealSent
    : index >= passage.revealEpoch && !isPending(passage, view);
  return isDue && isSameRow(view.row, storedRowOf(passage.row));
}

/** A plain row appears at once, a commit by the first read after its reveal epoch. */
function isOverdue(passage: Passage, view: ChainView, index: number): boolean {
  if (passage.mode === "plain") return view.metagraph.block > passage.landedBlock + storageBlocks;
  return index > passage.revealEpoch;
}

function whyMissing(passage: Passage, view: ChainView): string {
  if (passage.mode === "salted" && !passage.isRevealSent) return "its reveal was not sent in its epoch";
  if (isPending(passage, view)) return "the chain has not revealed it, perhaps because the drand pulse is missing";
  if (view.row.length === 0) return "the chain has no weights from this hotkey";
  return "the chain has other weights; does another program use this hotkey?";
}
