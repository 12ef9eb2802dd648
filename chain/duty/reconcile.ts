/**
 * Checks landed calls against the chain: whether a row is in storage as predicted, and in final blocks, or an update
 * was the chain's reveal rather than our call. Out of scope: calls without an answer (settle.ts), and those that a fork
 * moves or removes (forks.ts).
 */

import type { Neuron } from "../chain.ts";
import { epochIndex } from "../epochs/epochs.ts";
import { isSameRow, storedRowOf } from "../weights/stored_row.ts";
import type { ChainView, DutyRecord, DutyState, Passage } from "./duty.ts";
import { isFinal, isRemoved } from "./forks.ts";
import { isPending, mayHaveRevealed } from "./open_commits.ts";

const storageBlocks = 3; // within which a plain row must appear

/** Another registration of our hotkey has another uid and no history. */
export function forgetOldRegistration(state: DutyState, own: Neuron): void {
  const isOlder = (block: number) => block < own.registeredAtBlock;
  if (state.attempt !== null && isOlder(state.attempt.headBlock)) state.attempt = null;
  const kept = state.passages.filter((passage) => !isOlder(passage.landedBlock));
  state.passages.splice(0, state.passages.length, ...kept);
  if (isOlder(state.lastLandedBlock)) state.lastLandedBlock = 0;
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
 * Looks for our rows in storage. The newest one found there, by calls in final blocks, also settles the older ones that
 * it replaced, except those still to be revealed.
 */
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
  const newest = state.passages.findLastIndex((each) => isInStorage(each, view, index)); // it replaced those before it
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
