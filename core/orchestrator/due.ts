/** Deadlines: what happens when one has passed, and when the next one is. */

import { unreachable } from "../assert.ts";
import { fault } from "../fault.ts";
import type { NodeId } from "../ids.ts";
import { nextAlarm } from "./alarms.ts";
import { onAuditAlarm } from "./audit/auditing.ts";
import type { OrchestratorEffect } from "./event.ts";
import { onOverdue } from "./step/overdue.ts";
import { onLoadingAlarm } from "./members/loading.ts";
import { answersDueMs, endLateAnswers } from "./merge/merge_deadlines.ts";
import { isLost, onDismissed } from "./members/roster.ts";
import { onSealAlarm } from "./step/sealing.ts";
import type { Alarm, OrchestratorState } from "./state.ts";
import { replaceLateUploaders } from "./merge/uploads.ts";
import { waitDueMs } from "./audit/round_audits.ts";
import { closingDueMs } from "./closing.ts";
import { haltDueMs } from "./merge/losses/lost_rounds.ts";

export function runDue(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (let alarm = nextAlarm(state, nowMs); alarm !== null; alarm = nextAlarm(state, nowMs)) {
    effects.push(...onAlarm(state, { alarm, nowMs }));
  }
  return [...effects, ...replaceLateUploaders(state, nowMs), ...endLateAnswers(state, nowMs)];
}

function onAlarm(state: OrchestratorState, { alarm, nowMs }: { alarm: Alarm; nowMs: number }): OrchestratorEffect[] {
  switch (alarm.type) {
    case "lease":
      return onOverdue(state, { task: alarm.task, nowMs });
    case "seal": {
      const { node } = alarm;
      const { effects, isLost: isLate } = onSealAlarm(state, { node, nowMs });
      const reason = `no gradient within ${state.config.limits.leaseMs} ms`;
      return isLate ? throwOut(state, { node, reason, nowMs }) : effects;
    }
    case "silence":
      if (!isLost(state, { node: alarm.node, nowMs })) return [];
      return throwOut(state, { node: alarm.node, reason: "it did not come back in time", nowMs });
    case "audit":
      return onAuditAlarm(state, { id: alarm.request, nowMs });
    case "loading":
      if (!onLoadingAlarm(state, { ...alarm, nowMs })) return [];
      return throwOut(state, { node: alarm.node, reason: "it made no progress in loading its stage", nowMs });
    default:
      return unreachable(alarm);
  }
}

/** The node may join again. */
function throwOut(
  state: OrchestratorState,
  { node, reason, nowMs }: { node: NodeId; reason: string; nowMs: number },
): OrchestratorEffect[] {
  return onDismissed(state, { node, fault: fault("staleResult", reason), reason, nowMs });
}

/** Null: nothing happens without an event. */
export function nextDeadlineMs(state: OrchestratorState): number | null {
  if (state.phase === "finished") return null;
  let earliest = Infinity;
  const consider = (deadlineMs: number | null | undefined) => {
    if (deadlineMs !== null && deadlineMs !== undefined) earliest = Math.min(earliest, deadlineMs);
  };
  if (state.phase === "gathering" && !state.config.deterministic) consider(state.gatherUntilMs); // fixed wiring waits
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
