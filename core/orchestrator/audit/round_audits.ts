/**
 * How long a merge waits for its round's audits before it is applied, at most a tenth of the time of the round's steps.
 * After that a cheat's wires stay in the model, because miners no longer have the optimizer's state of the round's
 * start. Only repeated tasks are waited for: gradients and evaluations restart no round.
 */

import { isReduced } from "../merge/merge_state.ts";
import { type AuditRequest, roundOf } from "./audit_state.ts";
import type { OrchestratorState } from "../state.ts";

const mostWait = 0.1; // of the time of the round's steps

function hasOpenReplays({ audit, round, validators }: OrchestratorState): boolean {
  if (!audit.open.has(round)) return false;
  const isOfRound = (work: { readonly round: number }) => work.round === round;
  const isReplay = (request: AuditRequest) => request.type === "replay" && roundOf(request) === round;
  for (const { replay, type } of audit.refereed.values()) if (type === "replay" && isOfRound(replay)) return true;
  for (const { request } of audit.running.values()) if (isReplay(request)) return true;
  if (validators.size === 0) return false;
  for (const states of audit.awaited.values()) if (states.some(isOfRound)) return true;
  for (const { round: ofGroup, tried, requests } of audit.queue.groups.values()) {
    if (ofGroup !== round || [...validators].every((validator) => tried.includes(validator))) continue;
    if (requests.some(({ request }) => isReplay(request))) return true;
  }
  return false;
}

export function waitsForAudits(state: OrchestratorState, nowMs: number): boolean {
  return nowMs < dueMs(state, state.merge?.waitsSinceMs ?? nowMs) && hasOpenReplays(state);
}

/** One sum for the wait and its deadline, so that rounding cannot stop the clock before the deadline. */
const dueMs = (state: OrchestratorState, sinceMs: number): number =>
  sinceMs + mostWaitMs(state) - (state.merge?.waitedMs ?? 0);

const mostWaitMs = ({ interval, config }: OrchestratorState) =>
  Math.min(mostWait * interval.stepsMs, config.limits.mergePhaseMs);

/**
 * A merge waits while all its stages are reduced and one is not yet applied. One that lacks a stage is not applied at
 * all (merge/losses/lost_rounds.ts).
 */
export function timeWait({ merge }: OrchestratorState, nowMs: number): void {
  if (merge === null) return;
  const isReady = merge.stages.every((stage) => isReduced(stage) && stage.lostBecause === null);
  const waits = isReady && merge.stages.some(({ phase }) => phase === "reducing");
  if (waits) merge.waitsSinceMs ??= nowMs;
  else if (merge.waitsSinceMs !== null) {
    merge.waitedMs += nowMs - merge.waitsSinceMs;
    merge.waitsSinceMs = null;
  }
}

/** Null: the merge does not wait. */
export function waitDueMs(state: OrchestratorState): number | null {
  const { waitsSinceMs = null } = state.merge ?? {};
  return waitsSinceMs === null ? null : dueMs(state, waitsSinceMs);
}
