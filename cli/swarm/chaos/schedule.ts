/**
 * When the statements of a chaos plan are due, judged by the records of a run.
 *
 * The run's progress only rises here: a restarted orchestrator may close a step a second time, and a statement is due
 * only once for each moment. Moments before the swarm was started (--resume) are past. Same plan, seed and records,
 * same actions.
 */

import { keyOf, nextBelow, openStream, type Stream } from "../../../core/prng.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { ChaosAction, ChaosPlan, ChaosTime } from "./plan.ts";

interface Progress {
  readonly step: number; // closed
  readonly round: number; // begun
  readonly merge: number; // begun; the one that makes the round of its number
}

export interface ChaosSchedule {
  readonly plan: ChaosPlan;
  readonly draws: Stream;
  reached: Progress | null; // null before the run has begun
}

export function openSchedule(plan: ChaosPlan, seed: number): ChaosSchedule {
  return { plan, draws: openStream(keyOf(seed, "chaos")), reached: null };
}

/** In the order of the plan. */
export function dueActions(schedule: ChaosSchedule, record: RunRecord): ChaosAction[] {
  const shown = progressOf(record);
  const before = schedule.reached ?? startOf(record);
  if (shown === null || before === null) return [];
  const now: Progress = {
    step: Math.max(before.step, shown.step),
    round: Math.max(before.round, shown.round),
    merge: Math.max(before.merge, shown.merge, shown.round),
  };
  schedule.reached = now;
  return schedule.plan.filter(({ time }) => isDue(time, { before, now })).map(({ action }) => action);
}

/** Each equally likely; null when there is none. */
export function drawTarget<T>(schedule: ChaosSchedule, candidates: readonly T[]): T | null {
  return candidates.length === 0 ? null : candidates[nextBelow(schedule.draws, candidates.length)] ?? null;
}

function progressOf(record: RunRecord): Progress | null {
  switch (record.type) {
    case "runStarted":
    case "stepClosed":
      return { step: record.step, round: record.round, merge: record.round };
    case "mergePhase":
      return { step: 0, round: record.round, merge: record.round + 1 };
    case "roundMerged":
      return { step: 0, round: record.round, merge: record.round };
    default:
      return null;
  }
}

/** Before the first record that shows it. */
function startOf(record: RunRecord): Progress | null {
  if (record.type === "runStarted") return { step: record.step, round: record.round, merge: record.round };
  if (record.type === "stepClosed") return { step: record.step - 1, round: record.round, merge: record.round };
  return null;
}

function isDue(time: ChaosTime, { before, now }: { before: Progress; now: Progress }): boolean {
  const passes = (moment: number, counter: keyof Progress) => before[counter] < moment && moment <= now[counter];
  const passesMultiple = (period: number, counter: keyof Progress) =>
    Math.floor(now[counter] / period) > Math.floor(before[counter] / period);
  switch (time.type) {
    case "atStep":
      return passes(time.step, "step");
    case "everySteps":
      return passesMultiple(time.steps, "step");
    case "atRound":
      return passes(time.round, "round");
    case "everyRounds":
      return passesMultiple(time.rounds, "round");
    case "inMerge":
      return passes(time.merge, "merge");
  }
}
