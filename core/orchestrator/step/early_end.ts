/**
 * A run whose settings now allow no more steps than it has done opens no other and abandons the open one. In the middle of a
 * round the merge follows as at a normal end; between two rounds the run closes, whichever members are present.
 */

import type { OrchestratorEffect } from "../event.ts";
import { abandonStep } from "../merge/rewind.ts";
import { closingMs } from "../closing.ts";
import type { OrchestratorState } from "../state.ts";

export function endWhenDone(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "gathering" && state.phase !== "training") return [];
  if (state.step < state.config.train.steps) return [];
  const abandoned = abandonStep(state);
  if (state.step > state.roundFirstStep) return abandoned;
  state.phase = "closing";
  state.gatherUntilMs = null;
  state.closeUntilMs = nowMs + closingMs(state);
  return abandoned;
}
