/**
 * How long a merge waits for the audits of its round before its result is applied: of a liar that is found later, the wires stay
 * in the model, and miners that have applied the merge no longer have the optimizer's state of the round's start to go back to.
 *
 * The wait is at most a tenth of the time that the round's steps took, so validators that do not keep up cost a run little.
 * Repeated gradients, trials and evaluations are not waited for: none of them makes a round begin anew (referee.ts).
 */

import { type AuditRequest, roundOf } from "./audit_state.ts";
import type { OrchestratorState } from "../state.ts";

const mostWait = 0.1; // of the time of the round's steps

/** Whether a task of the open round is yet to be repeated, and there is a validator for it. */
function hasOpenReplays({ audit, round, validators }: OrchestratorState): boolean {
  if (validators.size === 0 || !audit.open.has(round)) return false;
  const isOfRound = (work: { readonly round: number }) => work.round === round;
  const isReplay = (request: AuditRequest) => request.type === "replay" && roundOf(request) === round;
  for (const { replay, type } of audit.refereed.values()) if (type === "replay" && isOfRound(replay)) return true;
  for (const states of audit.awaited.values()) if (states.some(isOfRound)) return true;
  for (const { request } of audit.running.values()) if (isReplay(request)) return true;
  for (const group of audit.queue.groups.values()) {
    if (group.round === round && group.requests.some(({ request }) => isReplay(request))) return true;
  }
  return false;
}

/** Whether a stage whose slices are reduced waits with applying them. */
export function waitsForAudits(state: OrchestratorState, nowMs: number): boolean {
  const endMs = waitEndMs(state);
  return (endMs === null || nowMs < endMs) && hasOpenReplays(state);
}

/** Null while a stage is still being reduced. */
function waitEndMs({ merge, interval, config }: OrchestratorState): number | null {
  const reducedMs = merge?.reducedMs ?? null;
  return reducedMs === null ? null : reducedMs + Math.min(mostWait * interval.stepsMs, config.limits.mergePhaseMs);
}

/** When the wait of the stages that wait now ends. */
export function waitDueMs(state: OrchestratorState): number | null {
  const isWaiting = state.merge?.stages.some(({ phase }) => phase === "reducing") === true;
  return isWaiting ? waitEndMs(state) : null;
}

/** A stage is about to be applied. */
export function noteWait({ merge }: OrchestratorState, nowMs: number): void {
  if (merge === null || merge.reducedMs === null) return;
  merge.waitedMs = Math.max(merge.waitedMs, nowMs - merge.reducedMs);
}
