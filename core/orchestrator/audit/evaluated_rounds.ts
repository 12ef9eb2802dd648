/**
 * What the held-out loss of a round means for the run: a new good round, or a jump that asks to go back (retake.ts).
 *
 * Owns also what the hub knows of a round's parameters without any validator: the loss of the round's first step, which trains on
 * text that is as new to them as the held-out text. It is the middle one of the microbatches', so a few lying tails do not move it.
 */

import { lowerMedian } from "../step/scale_book.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { GoodRound, OrchestratorState } from "../state.ts";

const leastJump = 0.5; // nats; honest training moves less between two rounds
const jumpShare = 0.1; // of the loss
const lossesKept = 8; // rounds

const isFarAbove = (loss: number, base: number): boolean => loss > base + Math.max(leastJump, jumpShare * base);

/** At the end of a round's first step. */
export function noteFirstLoss({ round, firstLosses }: OrchestratorState, losses: readonly number[]): void {
  firstLosses.set(round, lowerMedian(losses) ?? 0);
  firstLosses.delete(round - lossesKept);
}

/** What training says of a round's parameters. Infinity: nobody can compute with them. Null: not known yet. */
export function trainedLoss(state: OrchestratorState, round: number): number | null {
  const { config, facts, firstLosses, phase, reloads } = state;
  const known = firstLosses.get(round);
  if (known !== undefined) return known;
  if (round === 0) return Math.log(config.model.vocabSize); // before its first step the model guesses
  if (round === state.round && reloads.size > 0) return Infinity;
  return phase === "closing" ? facts.lossLast : null;
}

/** Whether a loss that two validators have found should be looked at by a third: the run would go back, or training found another. */
export function isDoubtful(state: OrchestratorState, { round, loss }: { round: number; loss: number }): boolean {
  const { good } = state;
  const trained = trainedLoss(state, round);
  return (good !== null && isFarAbove(loss, good.loss)) ||
    (trained !== null && (isFarAbove(loss, trained) || isFarAbove(trained, loss)));
}

/** What a settled evaluation means for the run. Called once for each round. */
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
    if (!Number.isFinite(loss)) return [warning(`Nothing finite comes out of round ${round}`)];
    state.good = found;
    for (const old of state.firstSteps.keys()) if (old < round) state.firstSteps.delete(old);
    return [];
  }
  const to = Number.isFinite(loss) ? loss.toFixed(4) : "a value that is not finite";
  const rise = `The held-out loss jumped from ${good.loss.toFixed(4)} to ${to} with round ${round}`;
  if (validators >= 2 && !good.isRetaken && state.phase !== "closing") {
    state.retakeBecause = rise;
    return [];
  }
  // Until a round is no worse than the last one, going back is no help: who says so every time does not hold up the run.
  if (Number.isFinite(loss)) state.good = { ...found, isRetaken: good.isRetaken };
  const why = validators < 2 ? "one validator alone says so" : "taking the round again did not help";
  return [warning(`${rise}; the run goes on as ${why}`)];
}

const warning = (text: string): OrchestratorEffect => record({ type: "warning", text });
