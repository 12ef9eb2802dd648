/**
 * How often a member comes back within one step, with a new session or only a new link.
 *
 * A lost session is nobody's fault and costs nothing the first times. Whoever uses it to hand tasks back or to have its deadlines begin
 * anew would stop the step without ever being late, so from then on its deadlines stand and its tasks go to others.
 */

import type { Member, OrchestratorState } from "./state.ts";

const freeReturns = 2; // in a step

/** Counts a return, outside of a step none. True: it has come back more often than counts as bad luck. */
export function comesBackOften({ work }: OrchestratorState, { node }: Member): boolean {
  if (work === null) return false;
  const returns = (work.returns.get(node) ?? 0) + 1;
  work.returns.set(node, returns);
  return returns > freeReturns;
}

export function hasComeBackOften({ work }: OrchestratorState, { node }: Member): boolean {
  return (work?.returns.get(node) ?? 0) > freeReturns;
}
