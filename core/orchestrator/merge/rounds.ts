/**
 * The transition between rounds: the agreed hashes become the run's parameters, and training continues at once. After
 * the last round the run closes (../closing.ts).
 */

import { closingMs } from "../closing.ts";
import { logCommitments } from "./payloads/commitments.ts";
import { present } from "../../assert.ts";
import { isMeasured } from "../../config/round_length.ts";
import { dropTrails } from "./payloads/payload_trails.ts";
import { derivedKey, hexOfKey } from "../../chacha.ts";
import type { BlobHash, NodeId } from "../../ids.ts";
import { carriedOn } from "../../update/payload/residual_reach.ts";
import { openStream } from "../../prng.ts";
import { forgetRecomputed } from "../audit/gradient_audits.ts";
import { drawTrials } from "../audit/held_out/payload_trials.ts";
import { forgetWays } from "../audit/shown_ends.ts";
import { endShowing } from "../audit/shown_states.ts";
import { ageStandings } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { renewInterval, stepsOfRound } from "./round_length.ts";
import { acceptedSlices, holdsAgreed, type StageMerge } from "./merge_state.ts";
import { rebalance } from "../members/rebalance.ts";
import { forgetReturns } from "../members/returns.ts";
import type { OrchestratorState } from "../state.ts";
import { reportRound } from "../audit/work_report.ts";

/** `mergedMs`: when the last round's merge ended, without its wait for audits; null: it had none. */
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
  forgetReturns(state);
  state.lostProgress.clear();
  state.hearing.putOffs = 0;
  state.audit.drawn.clear();
  state.audit.leaves.clear();
  forgetWays(state);
  dropTrails(state);
  forgetRecomputed(state);
  ageStandings(state);
}

export function finishRound(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { merge, counters } = state;
  if (merge === null || merge.stages.some((stage) => stage.phase !== "agreed")) return [];
  const miners = merge.stages.reduce((sum, stage) => sum + Math.max(stage.payloads.size, 1), 0);
  const bytes = merge.stages.reduce((sum, stage) => sum + stage.uploadedBytes, 0);
  const tasksLost = merge.stages.reduce((sum, stage) => sum + unmergedTasks(state, stage), 0);
  counters.merges += 1;
  counters.gradientsLost += tasksLost;
  counters.mergeBytes += bytes;
  counters.mergeMiners += miners;
  const draws = hexOfKey(state.stream.key);
  const trials = drawTrials(state, merge.stages);
  const committed = logCommitments(state.round, merge.stages);
  state.merge = null;
  state.restarts = { minersLost: 0, madeUpWires: 0 };
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
      lostBecause: null,
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
      ...(tasksLost > 0 ? { tasksLost } : {}),
      bytesPerMiner: bytes / miners,
      mergeMs: nowMs - merge.startedMs,
      ...(merge.waitedMs > 0 ? { waitedMs: merge.waitedMs } : {}),
      ...(isMeasured(state.config.train) ? { nextSteps: stepsOfRound(state) } : {}),
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

/** Gradient tasks that no payload contains, because their miner was lost or late. */
function unmergedTasks({ config, step, roundFirstStep }: OrchestratorState, { tasks, payloads }: StageMerge): number {
  let merged = 0;
  for (const [node, count] of tasks) if (payloads.has(node)) merged += count;
  return (step - roundFirstStep) * config.train.microbatchesPerStep - merged;
}

export function mergeBlobs(stages: readonly StageMerge[]): BlobHash[] {
  return stages.flatMap(({ payloads, slices }) => [
    ...[...payloads.values()].flatMap(({ hashes }) => hashes),
    ...slices.flatMap(({ results }) => [...results.values()].map((ref) => ref.hash)),
  ]);
}
