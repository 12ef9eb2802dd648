/**
 * What a held-out loss means for the run: a new good round, or a jump that calls for a rollback (retake.ts). The
 * training loss of a round's first step measures the same parameters: its text is as new to them, and the median over
 * microbatches resists a few dishonest tails.
 */

import { lowerMedian } from "../../../lower_median.ts";
import { type OrchestratorEffect, record } from "../../event.ts";
import type { GoodRound, OrchestratorState } from "../../state.ts";

const leastJump = 0.5; // nats; honest training moves less between two rounds
const jumpShare = 0.1; // of the loss
const lossesKept = 8; // rounds

const isFarAbove = (loss: number, base: number): boolean => loss > base + Math.max(leastJump, jumpShare * base);

export function noteFirstLoss({ round, firstLosses }: OrchestratorState, losses: readonly number[]): void {
  firstLosses.set(round, lowerMedian(losses) ?? 0);
  firstLosses.delete(round - lossesKept);
}

/** Infinity: nobody can compute with the round's parameters; null: not known yet. */
export function trainedLoss(state: OrchestratorState, round: number): number | null {
  const { config, facts, firstLosses, phase, reloads } = state;
  const known = firstLosses.get(round);
  if (known !== undefined) return known;
  if (round === 0 && beginsUntrained(state)) return Math.log(config.model.vocabSize); // it guesses uniformly
  if (round === state.round && reloads.size > 0) return Infinity;
  return phase === "closing" ? facts.lossLast : null;
}

/** False for a run that starts from a model. */
const beginsUntrained = ({ sources, retired }: OrchestratorState): boolean =>
  [sources, ...retired].some(({ round, stages }) => round === 0 && stages.every(({ type }) => type === "initial"));

/**
 * Whether the open round's first step reveals a harmful merge. The harm may also come from several merges since the
 * last good round that each did a little.
 */
export function isWorse(state: OrchestratorState): boolean {
  const { good, round } = state;
  const loss = trainedLoss(state, round);
  if (round === 0 || loss === null) return false;
  const before = [trainedLoss(state, round - 1), good?.loss ?? null];
  return before.some((each) => each !== null && isFarAbove(loss, each));
}

export function isLikeGood(state: OrchestratorState, round: number): boolean {
  const { good } = state;
  const loss = trainedLoss(state, round);
  return good !== null && round > good.sources.round && loss !== null && !isFarAbove(loss, good.loss);
}

/** An older round's parameters are kept until training has tested its successor's. */
export const awaitsTest = ({ round, firstLosses }: OrchestratorState, older: number): boolean =>
  older === round - 1 && !firstLosses.has(round);

/** Whether a loss that two validators agree on needs a third. */
export function isDoubtful(state: OrchestratorState, { round, loss }: { round: number; loss: number }): boolean {
  const { good } = state;
  const trained = trainedLoss(state, round);
  return (good !== null && isFarAbove(loss, good.loss)) ||
    (trained !== null && (isFarAbove(loss, trained) || isFarAbove(trained, loss)));
}

/** Called once for each round. */
export function noteEvaluation(
  state: OrchestratorState,
  { round, loss, validators }: { round: number; loss: number; validators: number },
): OrchestratorEffect[] {
  const evaluated = state.sources.round === round ? state.sources : state.retired.find((each) => each.round === round);
  const { good } = state;
  const step = state.firstSteps.get(round);
  if (evaluated === undefined || step === undefined || (good !== null && round <= good.sources.round)) return [];
  const found: GoodRound = { sources: evaluated, step, loss, isRetaken: false };
  if (good === null || !isFarAbove(loss, good.loss)) {
    if (!Number.isFinite(loss)) return [warning(`The held-out loss of round ${round} is not finite`)];
    // Some of the harm may have happened before the jump, so this round is not a target for a rollback.
    if (good !== null && loss > good.loss && round < state.round && isWorse(state)) return [];
    state.good = found;
    for (const old of state.firstSteps.keys()) if (old < round) state.firstSteps.delete(old);
    return [];
  }
  const to = Number.isFinite(loss) ? loss.toFixed(4) : "a non-finite value";
  const rise = `The held-out loss jumped from ${good.loss.toFixed(4)} to ${to} in round ${round}`;
  if (validators >= 2 && !good.isRetaken && state.phase !== "closing") {
    state.retakeBecause = rise;
    return [];
  }
  // The loss becomes the new reference: the same claim in each round would otherwise stop the run again and again.
  if (Number.isFinite(loss)) state.good = { ...found, isRetaken: good.isRetaken };
  const why = validators < 2 ? "only one validator says so" : "repeating the round did not help";
  return [warning(`${rise}; the run continues, because ${why}`)];
}

const warning = (text: string): OrchestratorEffect => record({ type: "warning", text });
