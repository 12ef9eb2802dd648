/**
 * How often a member returns within one step. A lost session is nobody's fault, and free a few times. After that,
 * deadlines stand and tasks are reassigned, so that a member cannot hand tasks back or restart its deadlines without
 * ever being late.
 */

import { stepsOfRound } from "../merge/round_length.ts";
import type { Member, OrchestratorState } from "../state.ts";

const freeReturns = 2; // in a step
const freeHandBacks = 4; // in a round, and one more for every so many steps of it:
const stepsOfHandBack = 10;

/** Outside a step no return counts. */
export function noteReturn({ work }: OrchestratorState, { node }: Member): void {
  work?.returns.set(node, (work.returns.get(node) ?? 0) + 1);
}

/** More often than bad luck explains. */
export function hasComeBackOften({ work }: OrchestratorState, { node }: Member): boolean {
  return (work?.returns.get(node) ?? 0) > freeReturns;
}

/** Counts a new session that has others do some of its tasks. False: there have been too many in this round. */
export function noteHandBack(state: OrchestratorState, { node }: Member): boolean {
  const { handBacks } = state;
  const times = (handBacks.get(node) ?? 0) + 1;
  handBacks.set(node, times);
  return times <= freeHandBacks + stepsOfRound(state) / stepsOfHandBack;
}

export const forgetReturns = ({ work, handBacks }: OrchestratorState): void => {
  work?.returns.clear();
  handBacks.clear();
};
