/**
 * A fork moves a landed call or removes it. Until its block is final, a call is neither checked nor settled. A removed
 * call may land again while its era lasts, so it is sent again only afterwards.
 */

import type { Neuron } from "../chain.ts";
import type { ChainView, DutyRecord, DutyState, Passage } from "./duty.ts";
import { isPending, mayHaveRevealed } from "./open_commits.ts";

export function hasOpenBlock({ lastLandedBlock, finalizedBlock, passages }: DutyState): boolean {
  return lastLandedBlock > finalizedBlock || passages.some(({ revealedBlock }) => revealedBlock > finalizedBlock);
}

export function isFinal({ finalizedBlock }: DutyState, { landedBlock, revealedBlock }: Passage): boolean {
  return Math.max(landedBlock, revealedBlock) <= finalizedBlock;
}

export function isRemoved(
  { lastLandedBlock, lastLandedAfterBlock }: DutyState,
  { passage, view, own }: { passage: Passage; view: ChainView; own: Neuron },
): boolean {
  return passage.landedBlock === lastLandedBlock && view.metagraph.block >= lastLandedBlock &&
    own.lastUpdateBlock <= lastLandedAfterBlock;
}

/** The chain files a call under its current block. */
export function followMoved(state: DutyState, view: ChainView, own: Neuron): void {
  const { lastLandedBlock, lastLandedAfterBlock, passages } = state;
  const passage = passages.at(-1);
  if (passage === undefined || passage.landedBlock !== lastLandedBlock || state.attempt !== null) return;
  const block = blockNow(passage, { state, view, own });
  const olderBlock = passages.at(-2)?.landedBlock ?? lastLandedAfterBlock;
  if (block === null || block === lastLandedBlock || block <= olderBlock) return;
  const isFiledNext = (at: number) => at >= passage.nextFiledBlock ? 1 : 0;
  passage.revealEpoch += isFiledNext(block) - isFiledNext(lastLandedBlock);
  passage.landedBlock = block;
  state.lastLandedBlock = block;
}

function blockNow(
  passage: Passage,
  { state, view, own }: { state: DutyState; view: ChainView; own: Neuron },
): number | null {
  if (passage.isRevealSent || isPending(passage, view)) return null;
  if (passage.mode === "plain") return mayHaveRevealed(state, view) ? null : own.lastUpdateBlock;
  return view.commits.findLast(({ committedBlock }) => committedBlock > state.lastLandedAfterBlock)?.committedBlock ??
    null;
}

export function forgetTakenBack(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  return [...forgetRow(state, view, own), ...forgetReveals(state, view)];
}

function forgetRow(state: DutyState, view: ChainView, own: Neuron): DutyRecord[] {
  const { lastLandedBlock, lastLandedAfterBlock, options } = state;
  const isSettled = view.metagraph.block > lastLandedBlock + options.settleBlocks;
  if (lastLandedBlock === 0 || !isSettled || own.lastUpdateBlock > lastLandedAfterBlock) return [];
  const at = state.passages.findIndex(({ landedBlock }) => landedBlock === lastLandedBlock);
  if (at >= 0) state.passages.splice(at, 1);
  state.lastLandedBlock = own.lastUpdateBlock;
  state.landedScoresRound = -1;
  return [{ type: "lost", purpose: "set", undoneBlock: lastLandedBlock }];
}

/** A commit that is still there was not revealed. */
function forgetReveals(state: DutyState, view: ChainView): DutyRecord[] {
  const removed = state.passages.filter((passage) =>
    passage.revealedBlock > 0 && isPending(passage, view) &&
    view.metagraph.block > passage.revealedBlock + state.options.settleBlocks
  );
  return removed.map((passage) => {
    const undoneBlock = passage.revealedBlock;
    Object.assign(passage, { isRevealSent: false, revealedBlock: 0 });
    return { type: "lost", purpose: "reveal", undoneBlock };
  });
}
