/**
 * The merge that ends a round: each stage goes through committing, reducing, applying, agreed.
 *
 * When the payloads are reduced and the round's audits are done or have taken too long (audit/round_audits.ts), every
 * replica takes the outer step and reports the hashes of its parameters and outer momentum. A result is agreed if more
 * than two thirds of the replicas that the merge began with report it and none reports another. Otherwise the
 * orchestrator takes the step, and replicas with another result are blamed and load the agreed one.
 */

import { assert, present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { contributionWeights } from "../../update/average.ts";
import { sliceLayout } from "../../update/butterfly.ts";
import { timeWait, waitsForAudits } from "../audit/round_audits.ts";
import { blame } from "../members/blame.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import { forgetProbe } from "./losses/failed_uploads.ts";
import { enter, phaseRecord } from "./merge_phase.ts";
import {
  acceptedSlices,
  holdsAgreed,
  isReduced,
  isSameStage,
  type MergedStage,
  type StageMerge,
  voteOf,
} from "./merge_state.ts";
import { askForPayload, noteLengths } from "./payloads/payload_check.ts";
import { keepTrails } from "./payloads/payload_trails.ts";
import { owe } from "./owing.ts";
import { judgeSlices, reduce, reducesAlone } from "./reducing.ts";
import { replicasOf, rosterOf } from "../members/replicas.ts";
import { benchMember } from "../members/roster_changes.ts";
import type { OrchestratorState } from "../state.ts";

export function startMerge(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  assert(state.work === null && state.merge === null, "the step is closed before a merge");
  state.phase = "merging";
  const stages = state.stages.map((spec) => openStage(state, { stage: spec.index, nowMs }));
  state.merge = { stages, startedMs: nowMs, waitsSinceMs: null, waitedMs: 0 };
  forgetProbe(state);
  const effects: OrchestratorEffect[] = [];
  for (const merge of stages) {
    effects.push(phaseRecord(state, merge));
    for (const node of merge.participants) effects.push(askForPayload(state, { merge, node }));
  }
  return effects;
}

const wholeShare = 0.9; // of a round's steps

function openStage(state: OrchestratorState, options: { stage: StageIndex; nowMs: number }): StageMerge {
  const replicas = replicasOf(state, options.stage);
  const workers = replicas.filter((member) => member.roundTasks > 0);
  const counted = contributionWeights(workers.map((member) => member.roundTasks));
  const tasks = new Map(workers.map(({ node, roundTasks }) => [node, roundTasks]));
  const leastSteps = wholeShare * (state.step - state.roundFirstStep);
  const whole = new Set(workers.filter((member) => member.roundSteps >= leastSteps).map(({ node }) => node));
  const weights = new Map(workers.map((member, i) => [member.node, present(counted[i], "every worker has a weight")]));
  for (const member of replicas) {
    rosterOf(state, options.stage).progress -= member.roundTasks;
    member.roundTasks = 0;
    member.roundSteps = 0;
  }
  const length = present(state.stageFloats[options.stage], "every stage has a length");
  const isCentral = reducesAlone(state, { stage: options.stage, payloads: workers.length });
  return {
    stage: options.stage,
    phase: "committing",
    replicas: replicas.length,
    hadWork: workers.length > 0,
    participants: new Set(replicas.map((member) => member.node)),
    weights,
    tasks,
    whole,
    isCentral,
    layout: sliceLayout({ length, contributors: isCentral ? 1 : Math.max(replicas.length, 1) }),
    payloads: new Map(),
    commitments: new Map(),
    checking: new Set(),
    lengths: new Map(),
    shapes: new Map(),
    scales: new Map(),
    edition: 0,
    isStale: false,
    slices: [],
    openSlices: 0,
    unjudged: [],
    owing: new Map([...weights.keys()].map((node) => [node, 1])),
    slow: new Set(),
    failures: new Map(),
    lostBecause: null,
    doubters: new Set(),
    doubted: new Set(),
    showing: new Set(),
    shown: new Map(),
    mend: null,
    reopened: 0,
    applied: new Map(),
    isHubAsked: false,
    isHubUnable: false,
    refereed: null,
    agreed: null,
    phaseStartedMs: options.nowMs,
    ...{ committedInMs: null, appliedInMs: null },
    deadlineMs: options.nowMs + state.config.limits.mergePhaseMs,
    hasQuorum: false,
    wholeWeight: counted.reduce((sum, weight) => sum + weight, 0),
    committedWeight: 0,
    uploadedBytes: 0,
  };
}

export function advanceMerge(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const merge of state.merge?.stages ?? []) {
    let phase: StageMerge["phase"] | null = null;
    while (phase !== merge.phase) {
      phase = merge.phase;
      effects.push(...advanceStage(state, { merge, nowMs }));
    }
  }
  timeWait(state, nowMs);
  return effects;
}

function advanceStage(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge } = options;
  if (merge.lostBecause !== null) return []; // the round is about to be repeated
  switch (merge.phase) {
    case "committing":
      return merge.owing.size === 0 && merge.checking.size === 0 ? reduce(state, options) : [];
    case "reducing": {
      if (merge.isStale) return reduce(state, options);
      const effects = judgeSlices(state, options);
      if (merge.phase !== "reducing" || !isReduced(merge) || waitsForAudits(state, options.nowMs)) return effects;
      return [...effects, ...apply(state, options)];
    }
    case "applying":
      return merge.owing.size === 0 ? agree(state, options) : [];
    case "agreed":
      return [];
  }
}

function apply(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const entered = enter(state, { merge, phase: "applying", nowMs });
  const nodes = [...merge.participants].filter((node) => !merge.applied.has(node)); // some did before slices were lost
  for (const node of nodes) owe(merge, node);
  const asks = nodes.map((node) => askToApply(state, { merge, node }));
  if (!merge.isCentral) return [entered, ...asks];
  merge.isHubAsked = true;
  return [entered, ...asks, askHubToApply(state, merge)];
}

export function askToApply(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  return send(node, { type: "applyMerge", round: state.round, slices: acceptedSlices(merge) });
}

export function keepStart(merge: StageMerge): void {
  merge.slices = [];
  merge.openSlices = 0;
}

function agree(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const agreed = merge.refereed ?? shownByReplicas(merge);
  if (agreed === null) {
    if (merge.isHubAsked) return [];
    merge.isHubAsked = true;
    return [askHubToApply(state, merge)];
  }
  merge.agreed = agreed;
  noteLengths(state, merge);
  keepTrails(state, merge);
  const odd = [...merge.participants].filter((node) => !holdsAgreed(merge, node));
  // Replicas did not start from a replacement.
  const isOfTheirStart = merge.refereed !== null && !state.replaced.has(merge.stage);
  state.counters.disagreements += odd.length;
  const effects: OrchestratorEffect[] = [];
  for (const node of odd) {
    if (isOfTheirStart && merge.applied.has(node)) effects.push(...blame(state, { node, fault: wrongVote }));
    benchMember(state, present(state.members.get(node), "a participant is a member"));
  }
  return [...effects, enter(state, { merge, phase: "agreed", nowMs })];
}

const wrongVote = fault(
  "badNumbers",
  "Its merged parameters differ from the orchestrator's own outer step",
);

export function askHubToApply(state: OrchestratorState, merge: StageMerge): OrchestratorEffect {
  const source = present(state.sources.stages[merge.stage], "every stage has a source");
  return { type: "refereeMerge", round: state.round, stage: merge.stage, source, slices: acceptedSlices(merge) };
}

/** Null: the orchestrator's result is needed. */
function shownByReplicas(merge: StageMerge): MergedStage | null {
  if (merge.isHubUnable) return majority(merge);
  return merge.isCentral ? null : unanimous(merge);
}

/** A few dishonest replicas must not decide because others are late or lost. */
function unanimous(merge: StageMerge): MergedStage | null {
  const [first, ...others] = merge.applied.values();
  if (first === undefined || others.some((merged) => !isSameStage(merged, first))) return null;
  return merge.replicas === 1 || (others.length > 0 && 3 * merge.applied.size > 2 * merge.replicas) ? first : null;
}

/** For when the store has lost the orchestrator's inputs. */
function majority(merge: StageMerge): MergedStage | null {
  const counts = new Map<string, number>();
  for (const merged of merge.applied.values()) {
    const count = (counts.get(voteOf(merged)) ?? 0) + 1;
    counts.set(voteOf(merged), count);
    if (2 * count > merge.applied.size) return merged;
  }
  return null;
}
