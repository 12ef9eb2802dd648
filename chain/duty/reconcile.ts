/**
 * Checks landed calls against the chain: whether a row is in storage as predicted, a block was reverted, or an update
 * was the chain's reveal rather than our call. Out of scope: calls without an answer (settle.ts).
 */

import type { Neuron } from "../chain.ts";
import { epochIndex } from "../epochs/epochs.ts";
import { isSameRow, storedRowOf } from "../weights/stored_row.ts";
import type { ChainView, DutyRecord, DutyState, Passage } from "./duty.ts";

const storageBlocks = 3; // within which a plain row must appear

/** Another registration of our hotkey has another uid and no history. */
export function forgetOldRegistration(state: DutyState, own: Neuron): void {
  const isOlder = (block: number) => block < own.registeredAtBlock;
  if (state.attempt !== null && isOlder(state.attempt.headBlock)) state.attempt = null;
  const kept = state.passages.filter((passage) => !isOlder(passage.landedBlock));
  state.passages.splice(0, state.passages.length, ...kept);
  if (isOlder(state.lastLandedBlock)) state.lastLandedBlock = 0;
}

/** A reverted block removes our call, unless it has landed again in time. */
export function forgetTakenBack(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  const { lastLandedBlock, lastLandedAfterBlock, options } = state;
  const isSettled = view.metagraph.block > lastLandedBlock + options.settleBlocks;
  if (lastLandedBlock === 0 || !isSettled || own.lastUpdateBlock > lastLandedAfterBlock) return [];
  const at = state.passages.findIndex(({ landedBlock }) => landedBlock === lastLandedBlock);
  if (at >= 0) state.passages.splice(at, 1);
  state.lastLandedBlock = own.lastUpdateBlock;
  return [{ type: "lost", purpose: "set" }];
}

/**
 * If weights are no longer hidden, the chain's reveal of an older commit is stamped as an update, as if our call had landed,
 * although the window is still open. Its block identifies it: with no call under way, the blocks of all our calls are known.
 */
export function noteReveal(state: DutyState, view: ChainView, own: Neuron): void {
  const { attempt, lastLandedBlock } = state;
  const isStamped = attempt === null && own.lastUpdateBlock > lastLandedBlock && mayHaveRevealed(state, view);
  if (isStamped) state.revealedBlock = own.lastUpdateBlock;
  const open = view.commits.filter(({ revealRound }) => revealRound !== null).map(({ committedBlock }) =>
    committedBlock
  );
  // One that has gone while a call is unanswered may still explain an update.
  state.openCommits = attempt === null ? open : [...new Set([...state.openCommits, ...open])];
}

/**
 * Whether the chain has revealed, or dropped, a commit of ours: one that it had at an earlier read, however long ago its epoch
 * was expected (a new tempo renumbers the legacy rule's epochs), or one whose row has not been seen yet.
 */
export function mayHaveRevealed({ passages, openCommits }: DutyState, view: ChainView): boolean {
  if (openCommits.some((block) => !view.commits.some(({ committedBlock }) => committedBlock === block))) return true;
  const index = view.epoch.formula === "legacy" ? Infinity : epochIndex(view.epoch);
  return passages.some((passage) =>
    passage.mode === "timelocked" && index >= passage.revealEpoch && !isPending(passage, view)
  );
}

/**
 * Looks for our rows in storage. The newest one found also settles the older ones that it replaced, except those still
 * to be revealed.
 */
export function checkPassages(state: DutyState, view: ChainView): DutyRecord[] {
  const index = epochIndex(view.epoch);
  const found = state.passages.findLastIndex((passage) => isInStorage(passage, view, index));
  const records: DutyRecord[] = [];
  if (found >= 0) {
    const { landedBlock } = state.passages[found]!;
    const kept = state.passages.filter((passage, i) => i > found || (i < found && isPending(passage, view)));
    state.passages.splice(0, state.passages.length, ...kept);
    state.checked = { landedBlock, atBlock: view.metagraph.block };
    state.alarm = null;
    records.push({ type: "rowChecked", landedBlock });
  }
  for (const passage of state.passages.filter((each) => isOverdue(each, view, index))) {
    state.passages.splice(state.passages.indexOf(passage), 1);
    const why = whyMissing(passage, view);
    state.alarm = `weights of block ${passage.landedBlock} did not take effect: ${why}`;
    records.push({ type: "rowMissing", landedBlock: passage.landedBlock, why });
  }
  return records;
}

/** Whether the chain still has the commit. */
export const isPending = (passage: Passage, view: ChainView): boolean =>
  view.commits.some(({ committedBlock }) => committedBlock === passage.landedBlock);

function isInStorage(passage: Passage, view: ChainView, index: number): boolean {
  const isDue = passage.mode === "plain"
    ? view.metagraph.block >= passage.landedBlock
    : passage.mode === "salted"
    ? passage.isRevealSent
    : index >= passage.revealEpoch && !isPending(passage, view);
  return isDue && isSameRow(view.row, storedRowOf(passage.row));
}

/** A plain row appears at once; a commit has until the first read after its reveal epoch. */
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
