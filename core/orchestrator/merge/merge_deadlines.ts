/**
 * When a phase of a merge stops waiting: at once when all have answered, after a grace period when a quorum has, or all
 * but one of three or more (so that one cannot stretch every phase), and in any case at its deadline, which is extended
 * while none of a stage's replicas has answered. A late replica loses as little as the phase allows.
 */

import type { NodeId } from "../../ids.ts";
import { isUnreliable, noteAbsence, noteWithheld } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { noteFailedUpload } from "./losses/failed_uploads.ts";
import { isReduced, type MergePhase, type StageMerge } from "./merge_state.ts";
import { dropParticipants, dropWeight } from "./participants.ts";
import { replaceReducer } from "./reducers.ts";
import { largestOf } from "../step/scale_book.ts";
import type { OrchestratorState } from "../state.ts";

export function noteQuorum(
  state: OrchestratorState,
  { merge, nowMs }: { merge: StageMerge; nowMs: number },
): void {
  const { mergeQuorum, mergeGraceMs } = state.config.limits;
  if (merge.hasQuorum || (answeredShare(merge) < mergeQuorum && !isAllButOne(merge))) return;
  merge.hasQuorum = true;
  merge.deadlineMs = Math.min(merge.deadlineMs, nowMs + mergeGraceMs);
}

/** Not while a lost blob is uploaded again, nor if the others did less than half of the work. */
function isAllButOne({ phase, participants, owing, showing, committedWeight, wholeWeight }: StageMerge): boolean {
  if (participants.size < 3 || owing.size !== 1 || showing.size > 0) return false;
  return phase !== "committing" || 2 * committedWeight > wholeWeight;
}

function answeredShare(merge: StageMerge): number {
  if (merge.phase === "reducing") return 1 - merge.openSlices / Math.max(1, merge.slices.length);
  if (merge.phase === "committing") return merge.wholeWeight === 0 ? 1 : merge.committedWeight / merge.wholeWeight;
  return merge.applied.size / Math.max(1, merge.participants.size);
}

/** Null: no needed answer is pending (the orchestrator itself is working, or waits). */
export function answersDueMs(merge: StageMerge): number | null {
  const isNeeded = merge.phase === "applying" ? merge.owing.size > 0 : merge.owing.size > 0 && !isReduced(merge);
  return isNeeded ? merge.deadlineMs : null;
}

export function endLateAnswers(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const merge of state.merge?.stages ?? []) {
    shortenForUnreliable(state, { merge, nowMs });
    const dueMs = answersDueMs(merge);
    if (dueMs === null || dueMs > nowMs) continue;
    const longerMs = longerDueMs(state, { merge, nowMs });
    if (longerMs !== null) {
      effects.push(waitOn(state, { merge, dueMs: longerMs }));
      continue;
    }
    for (const node of [...merge.owing.keys()]) effects.push(...goOnWithout(state, { merge, node, nowMs }));
    const { mergeGraceMs, mergePhaseMs } = state.config.limits;
    merge.deadlineMs = nowMs + (merge.hasQuorum ? mergeGraceMs : mergePhaseMs); // for the replicas asked instead
  }
  return effects;
}

const mostPhases = 4; // phase limits, while none of the stage's replicas has answered
// Times another stage's duration, so that the owner of a whole stage cannot delay merges by more.
const mostBeside = 4;

/**
 * If none has answered, the limit is too short for their links: continuing would lose this round and each after it.
 * Null: no extension, as for unreliable or disconnected replicas.
 */
function longerDueMs(state: OrchestratorState, { merge, nowMs }: { merge: StageMerge; nowMs: number }): number | null {
  const { phase, owing, payloads, checking, applied, phaseStartedMs } = merge;
  if (phase !== "committing" && phase !== "applying") return null;
  if (phase === "committing" ? payloads.size + checking.size > 0 : applied.size > 0) return null;
  for (const node of owing.keys()) {
    if (state.members.get(node)?.graceUntilMs !== null || isUnreliable(state, { node, duty: phase })) return null;
  }
  const { mergePhaseMs } = state.config.limits;
  const mostMs = Math.min(mostPhases * mergePhaseMs, mostBeside * slowestBeside(state, { merge, phase, nowMs }));
  const dueMs = Math.min(nowMs + mergePhaseMs, phaseStartedMs + mostMs);
  return dueMs > nowMs ? dueMs : null;
}

/** Infinity: no other stage has reached the phase. */
function slowestBeside(
  state: OrchestratorState,
  { merge, phase, nowMs }: { merge: StageMerge; phase: "committing" | "applying"; nowMs: number },
): number {
  const lasted = (state.merge?.stages ?? []).flatMap((other) => {
    if (other === merge) return [];
    if (other.phase === phase) return nowMs - other.phaseStartedMs;
    return (phase === "committing" ? other.committedInMs : other.appliedInMs) ?? [];
  });
  return largestOf(lasted) ?? Infinity;
}

function waitOn(
  state: OrchestratorState,
  { merge, dueMs }: { merge: StageMerge; dueMs: number },
): OrchestratorEffect {
  const { mergePhaseMs } = state.config.limits;
  merge.deadlineMs = dueMs;
  const late = merge.phase === "committing" ? "sent its payload" : "loaded the result";
  const text = `The merge of stage ${merge.stage} waits longer: each phase may take limits.mergePhaseMs ` +
    `(${
      Math.round(mergePhaseMs / 1000)
    } s) and none of its replicas has ${late}: raise it, or merge smaller payloads (outer.payload)`;
  return record({ type: "warning", text });
}

const leastWaitMs = 1000;

/** A node that made the others wait before gets only as long as they needed. */
function shortenForUnreliable(
  state: OrchestratorState,
  { merge, nowMs }: { merge: StageMerge; nowMs: number },
): void {
  const { phase, owing, phaseStartedMs } = merge;
  if (phase === "agreed" || owing.size === 0) return;
  for (const node of owing.keys()) if (!isUnreliable(state, { node, duty: phase })) return;
  merge.deadlineMs = Math.min(merge.deadlineMs, nowMs + Math.max(leastWaitMs, nowMs - phaseStartedMs));
}

function goOnWithout(
  state: OrchestratorState,
  { merge, node, nowMs }: { merge: StageMerge; node: NodeId; nowMs: number },
): OrchestratorEffect[] {
  noteLate(state, { node, phase: merge.phase });
  const late = record({ type: "mergeLate", round: state.round, stage: merge.stage, node, phase: merge.phase });
  switch (merge.phase) {
    case "committing":
      dropWeight(merge, node);
      merge.owing.delete(node);
      return [late];
    case "reducing":
      merge.slow.add(node);
      return [late, ...replaceReducer(state, { merge, node })];
    case "applying":
      return [late, ...dropParticipants(state, { merge, nodes: [node], nowMs })];
    case "agreed":
      return [];
  }
}

/** The orchestrator's side may refuse uploads. */
function noteLate(state: OrchestratorState, { node, phase }: { node: NodeId; phase: MergePhase }): void {
  if (phase === "agreed") return;
  if (state.members.get(node)?.graceUntilMs !== null) noteAbsence(state, { node, duty: phase });
  else if (phase === "applying") noteWithheld(state, { node, duty: phase });
  else noteFailedUpload(state, { node, duty: phase });
}
