/** When the machine has something to do without an event: the earliest of the deadlines in its state. */

import { waitDueMs } from "./audit/round_audits.ts";
import { closingDueMs } from "./closing.ts";
import { haltDueMs } from "./merge/losses/lost_rounds.ts";
import { answersDueMs } from "./merge/merge_deadlines.ts";
import type { OrchestratorState } from "./state.ts";

export function nextDeadlineMs(state: OrchestratorState): number | null {
  if (state.phase === "finished") return null;
  let earliest = Infinity;
  const consider = (deadlineMs: number | null | undefined) => {
    if (deadlineMs !== null && deadlineMs !== undefined) earliest = Math.min(earliest, deadlineMs);
  };
  if (state.phase === "gathering" && !state.config.deterministic) consider(state.gatherUntilMs); // fixed wiring waits for every member
  if (state.phase === "closing") consider(closingDueMs(state));
  consider(haltDueMs(state));
  consider(state.alarms[0]?.atMs);
  for (const stage of state.upload?.stages ?? []) {
    if (!stage.stored && stage.asked !== null && stage.asked !== "hub") consider(stage.deadlineMs);
  }
  for (const merge of state.merge?.stages ?? []) consider(answersDueMs(merge));
  consider(waitDueMs(state));
  return earliest === Infinity ? null : earliest;
}
