/**
 * The end of a run: it closes when the last checkpoint is written and the validators have answered, or when that takes
 * too long.
 */

import { plural } from "../plural.ts";
import { present } from "../assert.ts";
import type { BlobRef } from "../ids.ts";
import { auditsAreDone, settleOpenEvaluations } from "./audit/auditing.ts";
import { isProbe } from "./audit/audit_state.ts";
import { endAllShowing, hasUnshown } from "./audit/shown_states.ts";
import { reportEnd } from "./audit/work_report.ts";
import { type OrchestratorEffect, record, send } from "./event.ts";
import { sendNotices } from "./members/notices.ts";
import type { OrchestratorState } from "./state.ts";
import { keptRefs } from "./step/step_outcome.ts";
import { refsOfWork } from "./step/step_state.ts";

/** Half of it is for opening parameters; in the rest, those opened last can be repeated as well. */
export const closingMs = ({ config: { limits } }: OrchestratorState): number => 2 * limits.mergePhaseMs;

/** The last checkpoint is worth a few more deadlines. */
export function closeRun(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "closing") return [];
  const late = nowMs >= showsUntilMs(state) ? endAllShowing(state) : [];
  const { validators, audit } = state;
  const hasValidator = validators.size > 0 || audit.proven.size > 0; // a disconnected one may return
  const isDone = !hasValidator || auditsAreDone(state);
  if ((state.upload !== null || !isDone) && nowMs < closesAtMs(state)) return late;
  const unchecked = isDone ? [] : [record({ type: "warning", text: uncheckedText(state) })];
  const ended = [...late, ...unchecked, ...settleOpenEvaluations(state), ...reportEnd(state)];
  return [...ended, ...finish(state, { finished: true, reason: "all steps are done" })];
}

export const closingDueMs = (state: OrchestratorState): number =>
  hasUnshown(state) ? showsUntilMs(state) : closesAtMs(state);

export function showsUntilMs(state: OrchestratorState): number {
  return present(state.closeUntilMs, "a closing deadline") - closingMs(state) / 2;
}

const mostUploadDeadlines = 4;

function uncheckedText({ audit: { queue, running, refereed } }: OrchestratorState): string {
  const audits = queue.size + refereed.size + [...running.values()].filter(({ request }) => !isProbe(request)).length;
  return `${plural(audits, "audit")} cut off by the run's end: no validator kept up`;
}

export function closesAtMs(state: OrchestratorState): number {
  const lateMs = state.upload === null ? 0 : mostUploadDeadlines * state.config.limits.mergePhaseMs;
  return present(state.closeUntilMs, "a closing deadline") + lateMs;
}

/**
 * Nodes are told to stop only when the run is over; an orchestrator that exits earlier leaves them waiting for its
 * restart.
 */
export function finish(state: OrchestratorState, end: { finished: boolean; reason: string }): OrchestratorEffect[] {
  state.phase = "finished";
  const stops = [...state.members.keys()].map((node) => send(node, { type: "stop", ...end }));
  const held = heldSegments(state);
  return [
    ...sendNotices(state),
    ...stops,
    ...(held.length === 0 ? [] : [{ type: "release" as const, refs: held }]),
    record({ type: "runFinished", step: state.step, ...end }),
    { type: "finish", ...end },
  ];
}

/** Wires of the open step and of open audits, which the shell must hold for this state. */
export function heldSegments(state: OrchestratorState): BlobRef[] {
  const open = state.work === null ? [] : refsOfWork(state.work);
  const held = [...state.audit.held.values()].flatMap(({ wires }) => wires);
  return [...open, ...state.outcomes.flatMap(keptRefs), ...held];
}
