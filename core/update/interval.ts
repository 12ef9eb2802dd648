/**
 * How many steps a round has so that merging takes at most a share of the time.
 *
 * A merge takes the same time however many steps came before it, so a round of H steps spends
 * mergeMs / (H stepMs + mergeMs) of its time merging. Solved for H: on a fast network every step is merged, over slow links
 * a round gets long, up to `train.mostStepsPerRound`. Out of scope: measuring (orchestrator/merge/round_length.ts). Pure.
 */

import type { TrainConfig } from "../config/config.ts";
import { longestRound, mergeShareOf } from "../config/round_length.ts";

export interface Interval {
  steps: number; // of the open round; used where the configuration leaves it to measuring
  closed: number; // steps measured in it
  stepsMs: number; // what they took
  firstMs: number; // of that, the first
  isInterrupted: boolean; // by a restart: the members are still coming back, so what follows says nothing either
  closedMs: number | null; // when the newest of them closed; null: a restart has come in between
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
 * What a round's steps and its merge take. A merge lasts from the last step's end to the agreed result, with the optimizer's work on
 * that step, which otherwise is a part of the step that follows: so what merging adds is that time, less what the first step of a
 * round is shorter than its others, or with what it is longer. But never less than half of it, nor more than twice: a member that
 * is late in first steps alone, or in all others, must not decide how often the others merge.
 */
export function timesOf({ closed, stepsMs, firstMs }: Interval, lastedMs: number): Times {
  if (closed < 2) return { stepMs: stepsMs, mergeMs: lastedMs };
  const stepMs = Math.min((stepsMs - firstMs) / (closed - 1), firstMs + lastedMs / 2);
  return { stepMs, mergeMs: lastedMs + Math.min(firstMs - stepMs, lastedMs) };
}

/** The next round's steps, given the length of the one before. */
export function stepsFor(
  { stepMs, mergeMs }: Times,
  { before, train }: { before: number; train: TrainConfig },
): number {
  const share = mergeShareOf(train);
  const wanted = Math.ceil((mergeMs * (1 - share)) / (share * stepMs));
  const bounded = Math.min(2 * before, Math.max(Math.ceil(before / 2), wanted));
  return Math.min(longestRound(train), Math.max(1, bounded));
}
