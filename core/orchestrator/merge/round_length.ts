/**
 * The length of the open round: as configured, or as the last round's steps and merge suggest
 * (core/update/interval.ts).
 *
 * Invariants: no measured round is more than twice or less than half as long as the one before, so one slow merge,
 * which a member may have caused, changes little; none has more than `train.mostStepsPerRound` steps. The run's last
 * one includes a rest of less than half a round, within that limit. A round that a restart interrupted measures
 * nothing.
 */

import { isMeasured, longestRound } from "../../config/round_length.ts";
import { stepsFor, timesOf } from "../../update/interval.ts";
import type { OrchestratorState } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

/**
 * A merge follows the last step of a round or of the run, and the step in which a miner asked to leave whose work must
 * not be lost.
 */
export function roundIsOver(state: OrchestratorState): boolean {
  const { step, round, roundFirstStep, departing, config: { train } } = state;
  if (step === roundFirstStep) return false;
  return [...departing.values()].includes(round) || step >= train.steps || step - roundFirstStep >= stepsOfRound(state);
}

/** Steps of the open round, if nothing ends it early. Configured rounds end at multiples of their length. */
export function stepsOfRound(state: OrchestratorState): number {
  const { train } = state.config;
  if (isMeasured(train)) return withRest(state, measuredSteps(state));
  return train.stepsPerRound - state.roundFirstStep % train.stepsPerRound;
}

/** A merge after a step or two at the run's end would cost as much as any other and gain little. */
function withRest({ config: { train }, roundFirstStep }: OrchestratorState, steps: number): number {
  const left = train.steps - roundFirstStep;
  return left > steps && left < 1.5 * steps && left <= longestRound(train) ? left : steps;
}

/** Steps of the open round, if they are measured. The configuration's limit may have changed since. */
function measuredSteps({ config, interval }: Pick<OrchestratorState, "config" | "interval">): number {
  return Math.min(interval.steps, longestRound(config.train));
}

export function noteStep({ interval }: OrchestratorState, { outcome, nowMs }: { outcome: StepOutcome; nowMs: number }) {
  if (interval.closed === 0) interval.firstMs = outcome.stepMs;
  interval.closed += 1;
  interval.stepsMs += outcome.stepMs;
  interval.closedMs = nowMs;
}

/** Measurements of the round are invalid: the process was away, or the round restarts. */
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

/** Ends the measured round and sets the next one's length. `mergedMs` null: it ends without a merge. */
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
