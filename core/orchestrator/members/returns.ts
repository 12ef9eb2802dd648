/**
 * How often a member comes back within one step: with a new session, only a new link, or as a new member after its work was lost.
 *
 * A lost session is nobody's fault and costs nothing the first times. Whoever uses it to hand tasks back or to have its deadlines begin
 * anew would stop the step without ever being late, so from then on its deadlines stand and its tasks go to others; as a
 * new member it gets a stage with the next step. A restart of the orchestrator (restart.ts) forgets what was counted, as everybody loses the session by it.
 */

import type { Member, OrchestratorState } from "../state.ts";

const freeReturns = 2; // in a step

/** Once for each; outside of a step none counts. */
export function noteReturn({ work }: OrchestratorState, { node }: Member): void {
  work?.returns.set(node, (work.returns.get(node) ?? 0) + 1);
}

/** More often than counts as bad luck. */
export function hasComeBackOften({ work }: OrchestratorState, { node }: Member): boolean {
  return (work?.returns.get(node) ?? 0) > freeReturns;
}
