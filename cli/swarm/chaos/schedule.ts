/**
 * When the statements of a chaos plan are due, by the records of a run. Progress only rises: a restarted orchestrator
 * may repeat a step, and each moment counts once. Moments before a resumed swarm's start are past. Same plan, seed and
 * records, same actions.
 */

import { keyOf, nextBelow, openStream, type Stream } from "../../../core/prng.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { ChaosAction, ChaosPlan, ChaosTime } from "./plan.ts";

interface Progress {
  readonly step: number;
  readonly round: number;
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

/** Uniform; null: none. */
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

/** The progress before this record. */
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
