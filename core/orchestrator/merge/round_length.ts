/**
 * The length of the open round: configured, or derived from the last round's steps and merge (core/update/interval.ts).
 *
 * Invariants: a measured round is at most twice and at least half as long as the one before, so that one slow merge,
 * which a member may have caused, changes little. The run's last one includes a remainder of less than half a round.
 * None exceeds `train.mostStepsPerRound` steps. An interrupted round measures nothing.
 */

import { isMeasured, longestRound } from "../../config/round_length.ts";
import { stepsFor, timesOf } from "../../update/interval.ts";
import type { OrchestratorState } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

/** A round also ends with the step in which a miner asked to leave, so that its work is not lost. */
export function roundIsOver(state: OrchestratorState): boolean {
  const { step, round, roundFirstStep, departing, config: { train } } = state;
  if (step === roundFirstStep) return false;
  return [...departing.values()].includes(round) || step >= train.steps || step - roundFirstStep >= stepsOfRound(state);
}

/** If nothing ends it early. Configured rounds end at multiples of their length. */
export function stepsOfRound(state: OrchestratorState): number {
  const { train } = state.config;
  if (isMeasured(train)) return withRest(state, measuredSteps(state));
  return train.stepsPerRound - state.roundFirstStep % train.stepsPerRound;
}

/** A merge after the run's last step or two costs as much as any other and gains little. */
function withRest({ config: { train }, roundFirstStep }: OrchestratorState, steps: number): number {
  const left = train.steps - roundFirstStep;
  return left > steps && left < 1.5 * steps && left <= longestRound(train) ? left : steps;
}

function measuredSteps({ config, interval }: Pick<OrchestratorState, "config" | "interval">): number {
  return Math.min(interval.steps, longestRound(config.train));
}

export function noteStep({ interval }: OrchestratorState, { outcome, nowMs }: { outcome: StepOutcome; nowMs: number }) {
  if (interval.closed === 0) interval.firstMs = outcome.stepMs;
  interval.closed += 1;
  interval.stepsMs += outcome.stepMs;
  interval.closedMs = nowMs;
}

export function forgetTimes({ interval }: OrchestratorState): void {
  interval.closed = 0;
  interval.stepsMs = interval.firstMs = 0;
  interval.closedMs = null;
}

/** A restart: the next round is as long as this one. */
export function noteInterruption(state: OrchestratorState): void {
  forgetTimes(state);
  state.interval.isInterrupted = true;
}

/** `mergedMs` null: the round ends without a merge. */
export function renewInterval(state: OrchestratorState, mergedMs: number | null): void {
  const { interval, config } = state;
  const { closed, stepsMs, closedMs, isInterrupted } = interval;
  if (!isInterrupted && mergedMs !== null && closedMs !== null && closed > 0 && stepsMs > 0) {
    const times = timesOf(interval, Math.max(0, mergedMs - closedMs));
    if (times.stepMs > 0) interval.steps = stepsFor(times, { before: interval.steps, train: config.train });
  }
  forgetTimes(state);
  interval.isInterrupted = false;
}
