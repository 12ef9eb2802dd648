/**
 * How often a member returns within one step: with a new session, just a new link, or as a new member after its work
 * was lost.
 *
 * A lost session is nobody's fault and is free the first few times. A member that used it to hand tasks back or to
 * restart its deadlines could stop the step without ever being late, so from then on its deadlines stand and its tasks
 * are reassigned; as a new member it gets a stage with the next step. Sessions are seldom lost, because a broken link
 * does not end one: so a new one that has others do its tasks is free only a few times in a round, more in a long one;
 * then it counts as a missed commitment. A restart of the orchestrator (restart.ts) clears both counts, because all
 * sessions are lost with it.
 */

import { stepsOfRound } from "../merge/round_length.ts";
import type { Member, OrchestratorState } from "../state.ts";

const freeReturns = 2; // in a step
const freeHandBacks = 4; // in a round, and one more for every so many steps of it:
const stepsOfHandBack = 10;

/** Counts one return; outside a step none counts. */
export function noteReturn({ work }: OrchestratorState, { node }: Member): void {
  work?.returns.set(node, (work.returns.get(node) ?? 0) + 1);
}

/** Whether it has returned more often than bad luck explains. */
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

/** A new round begins, or all sessions were lost with the orchestrator's. */
export const forgetReturns = ({ work, handBacks }: OrchestratorState): void => {
  work?.returns.clear();
  handBacks.clear();
};
