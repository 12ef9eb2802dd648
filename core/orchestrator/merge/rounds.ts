/**
 * The edge between two rounds: new hashes become the run's parameters and training goes on at once; miners move to stages
 * that lack them (rebalance.ts). The run closes when the last checkpoint is written and the validators have answered, or
 * when closing takes too long.
 */

import { logCommitments } from "./commitments.ts";
import { present } from "../../assert.ts";
import { isMeasured } from "../../config/round_length.ts";
import { derivedKey, hexOfKey } from "../../chacha.ts";
import type { BlobHash, BlobRef, NodeId } from "../../ids.ts";
import { carriedOn } from "../../merge/residual_reach.ts";
import { openStream } from "../../prng.ts";
import { auditsAreDone, settleOpenEvaluations } from "../audit/auditing.ts";
import { forgetRecomputed } from "../audit/gradient_audits.ts";
import { drawTrials } from "../audit/held_out/payload_trials.ts";
import { forgetWays } from "../audit/shown_ends.ts";
import { endAllShowing, endShowing } from "../audit/shown_states.ts";
import { ageStandings } from "../members/blame.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { measuredSteps, renewInterval } from "./round_length.ts";
import { holdsAgreed, type StageMerge } from "./merge_state.ts";
import { rebalance } from "../members/rebalance.ts";
import type { OrchestratorState } from "../state.ts";
import { keptRefs } from "../step/step_outcome.ts";
import { refsOfWork } from "../step/step_state.ts";
import { reportEnd, reportRound } from "../audit/work_report.ts";

/**
 * A new round begins with the run's current step; what counted within the last one is forgotten. `mergedMs`: when the last
 * one's merge ended, without its wait for audits; null if it had none.
 */
export function openRound(state: OrchestratorState, { mergedMs }: { mergedMs: number | null }): void {
  state.round += 1;
  renewInterval(state, mergedMs);
  state.stream = openStream(derivedKey(state.secret, state.round));
  state.roundFirstStep = state.step;
  state.firstSteps.set(state.round, state.step);
  state.carriedRates = carriedOn(state);
  state.roundRates = 0;
  state.replaced.clear();
  state.reloads.clear();
  state.talk.clear();
  state.claims.clear();
  state.audit.drawn.clear();
  forgetWays(state);
  forgetRecomputed(state);
  ageStandings(state);
}

/** Completes the merge once every stage has agreed. */
export function finishRound(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { merge, counters } = state;
  if (merge === null || merge.stages.some((stage) => stage.phase !== "agreed")) return [];
  const miners = merge.stages.reduce((sum, stage) => sum + Math.max(stage.payloads.size, 1), 0);
  const bytes = merge.stages.reduce((sum, stage) => sum + stage.uploadedBytes, 0);
  counters.mergeBytes += bytes;
  counters.mergeMiners += miners;
  const draws = hexOfKey(state.stream.key);
  const trials = drawTrials(state, merge.stages);
  const committed = logCommitments(state.round, merge.stages);
  state.merge = null;
  state.restarts = 0;
  openRound(state, { mergedMs: nowMs - merge.waitedMs });
  state.upload = {
    round: state.round,
    step: state.step,
    stages: merge.stages.map((stage) => ({
      stage: stage.stage,
      merged: present(stage.agreed, "an agreed stage"),
      slices: acceptedSlices(stage),
      holders: holdersOf(stage),
      isHubUnable: false,
      isBelieved: stage.isHubUnable && stage.refereed === null,
      asked: null,
      deadlineMs: Infinity,
      stored: stage.refereed !== null,
      lost: 0,
    })),
    payloads: mergeBlobs(merge.stages),
    writing: false,
  };
  const effects: OrchestratorEffect[] = [
    ...trials,
    ...committed,
    ...endShowing(state),
    record({
      type: "roundMerged",
      round: state.round,
      stages: merge.stages.map((stage) => ({
        stage: stage.stage,
        parameters: present(stage.agreed, "an agreed stage").parameters.hash,
        replicas: stage.applied.size,
        agree: holdersOf(stage).length === stage.applied.size,
      })),
      bytesPerMiner: bytes / miners,
      mergeMs: nowMs - merge.startedMs,
      ...(merge.waitedMs > 0 ? { waitedMs: merge.waitedMs } : {}),
      ...(isMeasured(state.config.train) ? { nextSteps: measuredSteps(state) } : {}),
      draws,
    }),
  ];
  const isLast = state.step >= state.config.train.steps;
  effects.push(...reportRound(state, { round: state.round - 1 }));
  state.phase = isLast ? "closing" : "training";
  if (isLast) state.closeUntilMs = nowMs + closingMs(state);
  else effects.push(...rebalance(state));
  return effects;
}

function holdersOf(stage: StageMerge): NodeId[] {
  return [...stage.participants].filter((node) => holdsAgreed(stage, node));
}

function acceptedSlices(stage: StageMerge): BlobRef[] {
  return stage.slices.map((slice) => present(slice.accepted, "an agreed stage has its slices"));
}

/** Every payload and reduced slice of the merge. */
export function mergeBlobs(stages: readonly StageMerge[]): BlobHash[] {
  return stages.flatMap(({ payloads, slices }) => [
    ...[...payloads.values()].flatMap(({ hashes }) => hashes),
    ...slices.flatMap(({ results }) => [...results.values()].map((ref) => ref.hash)),
  ]);
}

// ---------------------------------------------------------------------------------------------------------- closing

/** Parameters have half of it to be shown; with the rest, those shown last can be repeated as well. */
export const closingMs = ({ config: { limits } }: OrchestratorState): number => 2 * limits.mergePhaseMs;

/** Ends the run once all pending work is done, or time is up. The last checkpoint is worth a few more deadlines. */
export function closeRun(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "closing") return [];
  const late = nowMs >= showsUntilMs(state) ? endAllShowing(state) : [];
  const hasValidator = state.validators.size > 0;
  const isComplete = state.upload === null && (!hasValidator || auditsAreDone(state));
  if (!isComplete && nowMs < closesAtMs(state)) return late;
  const ended = [...late, ...settleOpenEvaluations(state), ...reportEnd(state)];
  return [...ended, ...finish(state, { finished: true, reason: "all steps are done" })];
}

export function showsUntilMs(state: OrchestratorState): number {
  return present(state.closeUntilMs, "a closing deadline") - closingMs(state) / 2;
}

const mostUploadDeadlines = 4;

export function closesAtMs(state: OrchestratorState): number {
  const lateMs = state.upload === null ? 0 : mostUploadDeadlines * state.config.limits.mergePhaseMs;
  return present(state.closeUntilMs, "a closing deadline") + lateMs;
}

/**
 * Nodes are told to stop only when the run is over, with all steps done or none possible; an orchestrator that exits earlier
 * leaves them waiting for its restart.
 */
export function finish(state: OrchestratorState, end: { finished: boolean; reason: string }): OrchestratorEffect[] {
  state.phase = "finished";
  const stops = [...state.members.keys()].map((node) => send(node, { type: "stop", ...end }));
  const held = heldSegments(state);
  return [
    ...stops,
    ...(held.length === 0 ? [] : [{ type: "release" as const, refs: held }]),
    record({ type: "runFinished", step: state.step, ...end }),
    { type: "finish", ...end },
  ];
}

/** Wires of the open step and of open audits: everything received that the shell must hold for this state. */
export function heldSegments(state: OrchestratorState): BlobRef[] {
  const open = state.work === null ? [] : refsOfWork(state.work);
  const held = [...state.audit.held.values()].flatMap(({ wires }) => wires);
  return [...open, ...state.outcomes.flatMap(keptRefs), ...held];
}
