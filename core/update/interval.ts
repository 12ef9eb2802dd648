/**
 * The number of steps in a round at which merging takes at most a given share of the time.
 *
 * A merge takes the same time however many steps came before it, so a round of H steps spends mergeMs / (H stepMs +
 * mergeMs) of its time merging. Solved for H: on a fast network every step is merged; over slow links rounds get
 * longer, up to `train.mostStepsPerRound`. Out of scope: measuring (orchestrator/merge/round_length.ts). Pure.
 */

import type { TrainConfig } from "../config/config.ts";
import { longestRound, mergeShareOf } from "../config/round_length.ts";

export interface Interval {
  steps: number; // of the open round; used if the configuration leaves it to measurement
  closed: number; // steps measured in it
  stepsMs: number; // what they took
  firstMs: number; // of that, the first
  isInterrupted: boolean; // by a restart: members are still returning, so the following measurements are invalid too
  closedMs: number | null; // when the newest of them closed; null: a restart came in between
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
  readonly mergeMs: number; // that merging takes
}

/**
 * Measures a round's steps and its merge. A merge lasts from the last step's end to the agreed result, including the
 * optimizer's work on that step, which otherwise belongs to the following step. So merging adds that time, minus what a
 * round's first step is shorter than the others, or plus what it is longer. The result is limited to between half and
 * twice that time, so that a member that is late only in first steps, or only in the others, cannot decide how often
 * the others merge.
 */
export function timesOf({ closed, stepsMs, firstMs }: Interval, lastedMs: number): Times {
  if (closed < 2) return { stepMs: stepsMs, mergeMs: lastedMs };
  const stepMs = Math.min((stepsMs - firstMs) / (closed - 1), firstMs + lastedMs / 2);
  return { stepMs, mergeMs: lastedMs + Math.min(firstMs - stepMs, lastedMs) };
}

/** The next round's steps, given the length of the previous one. */
export function stepsFor(
  { stepMs, mergeMs }: Times,
  { before, train }: { before: number; train: TrainConfig },
): number {
  const share = mergeShareOf(train);
  const wanted = Math.ceil((mergeMs * (1 - share)) / (share * stepMs));
  const bounded = Math.min(2 * before, Math.max(Math.ceil(before / 2), wanted));
  return Math.min(longestRound(train), Math.max(1, bounded));
}
