/** Which of our commits the chain still has, at one read of it. */

import { epochIndex } from "../epochs/epochs.ts";
import type { ChainView, DutyState, Passage } from "./duty.ts";

export const isPending = (passage: Passage, view: ChainView): boolean =>
  view.commits.some(({ committedBlock }) => committedBlock === passage.landedBlock);

/** A commit seen before counts whatever its expected epoch, because a new tempo renumbers the legacy rule's epochs. */
export function mayHaveRevealed({ passages, openCommits }: DutyState, view: ChainView): boolean {
  if (openCommits.some((block) => !view.commits.some(({ committedBlock }) => committedBlock === block))) return true;
  const index = view.epoch.formula === "legacy" ? Infinity : epochIndex(view.epoch);
  return passages.some((passage) =>
    passage.mode === "timelocked" && index >= passage.revealEpoch && !isPending(passage, view)
  );
}
