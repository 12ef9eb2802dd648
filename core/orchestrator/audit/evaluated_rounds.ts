/**
 * What the held-out loss of a round means for the run: a new good round, or a jump that asks to go back (retake.ts).
 */

import { type OrchestratorEffect, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";

const leastJump = 0.5; // nats; honest training moves less between two rounds
const jumpShare = 0.1; // of the loss

/** What a settled evaluation means for the run. Called once for each round. */
export function noteEvaluation(
  state: OrchestratorState,
  { round, loss, validators }: { round: number; loss: number; validators: number },
): OrchestratorEffect[] {
  const evaluated = state.sources.round === round ? state.sources : state.retired.find((each) => each.round === round);
  const { good } = state;
  const step = state.firstSteps.get(round);
  if (evaluated === undefined || step === undefined || (good !== null && round <= good.sources.round)) return [];
  const isJump = good !== null && loss > good.loss + Math.max(leastJump, jumpShare * good.loss);
  if (!isJump) {
    state.good = { sources: evaluated, step, loss, isRetaken: false };
    for (const old of state.firstSteps.keys()) if (old < round) state.firstSteps.delete(old);
    return [];
  }
  const rise = `${good.loss.toFixed(4)} to ${loss.toFixed(4)}`;
  if (validators >= 2 && !good.isRetaken && state.phase !== "closing") {
    state.retakeBecause = `The held-out loss jumped from ${rise} with round ${round}`;
    return [];
  }
  state.good = { sources: evaluated, step, loss, isRetaken: false };
  const why = validators < 2 ? "one validator alone says so" : "taking the round again did not help";
  const text = `The held-out loss jumped from ${rise} with round ${round}; the run goes on as ${why}`;
  return [record({ type: "warning", text })];
}
