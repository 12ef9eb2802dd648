/**
 * The steps of a round at which merging takes a given share of the time: mergeMs / (H stepMs + mergeMs), solved for H.
 * Over slow links rounds get longer, up to `train.mostStepsPerRound`. orchestrator/merge/round_length.ts measures.
 */

import type { TrainConfig } from "../config/config.ts";
import { longestRound, mergeShareOf } from "../config/round_length.ts";

export interface Interval {
  steps: number; // of the open round, where measured
  closed: number; // measured steps
  stepsMs: number;
  firstMs: number; // of these, the first step
  isInterrupted: boolean; // by a restart; members are still returning, so later measurements are invalid too
  closedMs: number | null; // end of the newest step; null: a restart came in between
}

export const openInterval = (): Interval => ({
  steps: 1,
  closed: 0,
  stepsMs: 0,
  firstMs: 0,
  isInterrupted: false,
  closedMs: null,
});

interface Times {
  readonly stepMs: number; // above 0
  readonly mergeMs: number;
}

/**
 * A merge lasts from the last step's end to the agreed result, including the optimizer's work on that step. Merging
 * adds that time, plus or minus the difference of a round's first step to the others, limited to half and twice that
 * time: a member late only in some steps cannot decide how often the others merge.
 */
export function timesOf({ closed, stepsMs, firstMs }: Interval, lastedMs: number): Times {
  if (closed < 2) return { stepMs: stepsMs, mergeMs: lastedMs };
  const stepMs = Math.min((stepsMs - firstMs) / (closed - 1), firstMs + lastedMs / 2);
  return { stepMs, mergeMs: lastedMs + Math.min(firstMs - stepMs, lastedMs) };
}

/** `before`: steps of the previous round. */
export function stepsFor(
  { stepMs, mergeMs }: Times,
  { before, train }: { before: number; train: TrainConfig },
): number {
  const share = mergeShareOf(train);
  const wanted = Math.ceil((mergeMs * (1 - share)) / (share * stepMs));
  const bounded = Math.min(2 * before, Math.max(Math.ceil(before / 2), wanted));
  return Math.min(longestRound(train), Math.max(1, bounded));
}
