/**
 * How often a member comes back within one step: with a new session, just a new link, or as a new member after its work was
 * lost.
 *
 * A lost session is nobody's fault and is free the first few times. A member that used it to hand tasks back or to restart its
 * deadlines could stop the step without ever being late, so from then on its deadlines stand and its tasks go to others; as a
 * new member it gets a stage with the next step. Coming back without the gradients of tasks that are credited to it has others
 * do these again, and is free a few times in a round. A restart of the orchestrator (restart.ts) clears both counts, because
 * all sessions are lost with it.
 */

import type { Member, OrchestratorState } from "../state.ts";

const freeReturns = 2; // in a step
const freeLosses = 3; // of credited gradients, in a round

/** Counts one return; outside a step none counts. */
export function noteReturn({ work }: OrchestratorState, { node }: Member): void {
  work?.returns.set(node, (work.returns.get(node) ?? 0) + 1);
}

/** Whether it has returned more often than bad luck explains. */
export function hasComeBackOften({ work }: OrchestratorState, { node }: Member): boolean {
  return (work?.returns.get(node) ?? 0) > freeReturns;
}

/** Counts a return without credited gradients. False: there have been too many in this round. */
export function noteGradientsGone({ emptyReturns }: OrchestratorState, { node }: Member): boolean {
  const times = (emptyReturns.get(node) ?? 0) + 1;
  emptyReturns.set(node, times);
  return times <= freeLosses;
}

/** A new round begins, or all sessions were lost with the hub's. */
export const forgetReturns = ({ work, emptyReturns }: OrchestratorState): void => {
  work?.returns.clear();
  emptyReturns.clear();
};
