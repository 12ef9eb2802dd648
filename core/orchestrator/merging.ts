/**
 * The merge that ends a round: every stage at once, each through committing, reducing, applying, agreed.
 *
 * Butterfly all-reduce: the stage vector is cut into slices, each reduced by two replicas; equal hashes are accepted, unequal
 * ones go to a third reducer and the odd one out leaves the run within the round. Where too few replicas are alive the hub
 * itself is the second or third reducer, so no slice is ever accepted on one word (a single payload needs no reduction).
 * Then every replica takes the outer step and shows one parameter hash; whoever shows another must load the agreed one.
 * Phases close by answer or deadline, never by hope.
 */

import { assert, present } from "../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../ids.ts";
import { agreement } from "../merge/agreement.ts";
import { contributionWeights } from "../merge/average.ts";
import { assignReducers, sliceLayout } from "../merge/butterfly.ts";
import { nextBelow } from "../prng.ts";
import { type OrchestratorEffect, record, send } from "./event.ts";
import { askReducer, dropParticipants } from "./reducers.ts";
import {
  type MergedStage,
  type OrchestratorState,
  type Reducer,
  replicasOf,
  type SliceWork,
  type StageMerge,
} from "./state.ts";

export function startMerge(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  assert(state.work === null && state.merge === null, "Cannot start a merge as the step must be closed");
  state.phase = "merging";
  const stages = state.stages.map((spec) => openStage(state, { stage: spec.index, nowMs }));
  state.merge = { stages, startedMs: nowMs };
  const effects: OrchestratorEffect[] = [];
  for (const merge of stages) {
    effects.push(phaseRecord(state, merge));
    for (const node of merge.participants) {
      const contributes = merge.weights.has(node);
      effects.push(send(node, { type: "startMerge", round: state.round, slices: merge.layout, contributes }));
    }
  }
  return effects;
}

function openStage(state: OrchestratorState, options: { stage: StageIndex; nowMs: number }): StageMerge {
  const replicas = replicasOf(state, options.stage);
  const workers = replicas.filter((member) => member.roundTasks > 0);
  const counted = contributionWeights(workers.map((member) => member.roundTasks));
  const weights = new Map(workers.map((member, i) => [member.node, present(counted[i], "a weight a worker")]));
  for (const member of replicas) member.roundTasks = 0;
  const length = present(state.stageFloats[options.stage], "a length a stage");
  return {
    stage: options.stage,
    phase: "committing",
    participants: replicas.map((member) => member.node),
    weights,
    layout: sliceLayout({ length, contributors: Math.max(replicas.length, 1) }),
    payloads: new Map(),
    slices: [],
    applied: new Map(),
    isHubAsked: false,
    refereed: null,
    agreed: null,
    deadlineMs: options.nowMs + state.config.limits.mergePhaseMs,
    uploads: { bytes: 0 },
  };
}

function phaseRecord(state: OrchestratorState, merge: StageMerge): OrchestratorEffect {
  return record({ type: "mergePhase", round: state.round, stage: merge.stage, phase: merge.phase });
}

// ------------------------------------------------------------------------------------------------------- phases

/** Moves every stage on as far as the answers allow. */
export function advanceMerge(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const merge of state.merge?.stages ?? []) {
    let phase: StageMerge["phase"] | null = null;
    while (phase !== merge.phase) {
      phase = merge.phase;
      effects.push(...advanceStage(state, { merge, nowMs }));
    }
  }
  return effects;
}

function advanceStage(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  switch (merge.phase) {
    case "committing":
      return [...merge.weights.keys()].every((node) => merge.payloads.has(node)) ? reduce(state, options) : [];
    case "reducing": {
      const effects: OrchestratorEffect[] = [];
      for (const [index, slice] of merge.slices.entries()) {
        if (slice.accepted === null) effects.push(...judge(state, { merge, slice, index, nowMs }));
      }
      if (merge.phase !== "reducing" || merge.slices.some((slice) => slice.accepted === null)) return effects;
      return [...effects, ...apply(state, options)];
    }
    case "applying":
      return agree(state, options);
    case "agreed":
      return [];
  }
}

function enter(
  state: OrchestratorState,
  options: { merge: StageMerge; phase: StageMerge["phase"]; nowMs: number },
): OrchestratorEffect {
  options.merge.phase = options.phase;
  options.merge.deadlineMs = options.nowMs + state.config.limits.mergePhaseMs;
  return phaseRecord(state, options.merge);
}

function reduce(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const payloads = [...merge.payloads.values()];
  const entered = enter(state, { merge, phase: "reducing", nowMs });
  if (payloads.length <= 1) {
    const only = payloads[0] ?? [];
    merge.slices = only.map((ref) => ({ asked: [], results: new Map(), accepted: ref }));
    return [entered];
  }
  const replicas = merge.participants.length;
  const pairs = replicas >= 2
    ? assignReducers({ slices: merge.layout.length, miners: replicas, stream: state.stream })
    : merge.layout.map(() => [0] as const);
  merge.slices = pairs.map((pair) => {
    const asked: Reducer[] = [...pair].map((index) => present(merge.participants[index], "a reducer is a participant"));
    if (asked.length < 2) asked.push("hub");
    return { asked, results: new Map(), accepted: null };
  });
  return [
    entered,
    ...merge.slices.flatMap((slice, index) =>
      slice.asked.map((reducer) => askReducer(state, { merge, index, reducer }))
    ),
  ];
}

/** Compares a slice's hashes; equal: accepted, unequal: a third reducer, then the odd one out is expelled. */
function judge(
  state: OrchestratorState,
  options: { merge: StageMerge; slice: SliceWork; index: number; nowMs: number },
): OrchestratorEffect[] {
  const { merge, slice, index, nowMs } = options;
  if (slice.asked.some((reducer) => !slice.results.has(reducer))) return [];
  const answers = [...slice.results];
  if (answers.length === 1) { // every replica is gone: the hub's own result is all there is
    slice.accepted = present(answers[0], "one answer")[1];
    return [];
  }
  const verdict = agreement(answers.map(([, ref]) => ref.hash));
  if (verdict.type === "accepted") {
    slice.accepted = present(answers.find(([, ref]) => ref.hash === verdict.hash), "the accepted hash was given")[1];
    const liars = verdict.liars.map((i) => present(answers[i], "an answer")[0]).filter((reducer): reducer is NodeId =>
      reducer !== "hub"
    );
    const disputes = liars.map((liar) =>
      record({ type: "sliceDisputed", round: state.round, stage: merge.stage, slice: index, liar })
    );
    return liars.length === 0 ? [] : [
      ...disputes,
      ...dropParticipants(state, { merge, nodes: liars, expel: "its reduced slice differed from two others" }),
    ];
  }
  const others = merge.participants.filter((node) => !slice.asked.includes(node));
  const third: Reducer = others.length === 0
    ? "hub"
    : present(others[nextBelow(state.stream, others.length)], "a third");
  if (verdict.type === "unresolved" || slice.asked.includes(third)) return skipMerge(state, { merge, nowMs });
  slice.asked.push(third);
  return [
    record({ type: "sliceDisputed", round: state.round, stage: merge.stage, slice: index, liar: null }),
    askReducer(state, { merge, index, reducer: third }),
  ];
}

function apply(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const slices = acceptedSlices(merge);
  return [
    enter(state, { merge, phase: "applying", nowMs }),
    ...merge.participants.map((node) => send(node, { type: "applyMerge", round: state.round, slices })),
  ];
}

function acceptedSlices(merge: StageMerge): BlobRef[] {
  return merge.slices.map((slice) => present(slice.accepted, "all slices are accepted"));
}

/** Nothing of this round can be used for the stage: it keeps the parameters it began with. */
export function skipMerge(
  state: OrchestratorState,
  options: { merge: StageMerge; nowMs: number },
): OrchestratorEffect[] {
  const { merge } = options;
  merge.slices = [];
  const text = `Stage ${merge.stage} keeps the parameters of round ${state.round} as its payloads could not be merged`;
  return [record({ type: "warning", text }), ...apply(state, options)];
}

/** One hash for all: the majority's; without one the hub computes it. */
function agree(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  if (merge.participants.some((node) => !merge.applied.has(node))) return [];
  const agreed = merge.refereed ?? majority(merge);
  if (agreed === null) {
    if (merge.isHubAsked) return [];
    merge.isHubAsked = true;
    const source = present(state.sources.stages[merge.stage], "a source a stage");
    return [{ type: "refereeMerge", round: state.round, stage: merge.stage, source, slices: acceptedSlices(merge) }];
  }
  merge.agreed = agreed;
  const odd = merge.participants.filter((node) => merge.applied.get(node)?.parameters.hash !== agreed.parameters.hash);
  state.counters.disagreements += odd.length;
  for (const node of odd) {
    const member = present(state.members.get(node), "a participant is a member");
    member.status = "waiting";
  }
  return [enter(state, { merge, phase: "agreed", nowMs })];
}

function majority(merge: StageMerge): MergedStage | null {
  const votes = new Map<string, { count: number; merged: MergedStage }>();
  for (const merged of merge.applied.values()) {
    const vote = votes.get(merged.parameters.hash) ?? { count: 0, merged };
    votes.set(merged.parameters.hash, { ...vote, count: vote.count + 1 });
  }
  for (const vote of votes.values()) if (2 * vote.count > merge.applied.size) return vote.merged;
  return null;
}

/** A node was lost during the merge. */
export function leaveMerge(state: OrchestratorState, node: NodeId): OrchestratorEffect[] {
  const merge = state.merge?.stages.find((stage) => stage.participants.includes(node));
  return merge === undefined ? [] : dropParticipants(state, { merge, nodes: [node] });
}

/** When the answers of this phase are due; null while no replica owes one (the hub is at work itself). */
export function answersDueMs(merge: StageMerge): number | null {
  return merge.phase !== "agreed" && merge.participants.some((node) => isAwaited(merge, node))
    ? merge.deadlineMs
    : null;
}

/** Participants whose answer is overdue; the caller loses them. */
export function lateParticipants(state: OrchestratorState, nowMs: number): NodeId[] {
  const late: NodeId[] = [];
  for (const merge of state.merge?.stages ?? []) {
    if (merge.deadlineMs > nowMs || merge.phase === "agreed") continue;
    late.push(...merge.participants.filter((node) => isAwaited(merge, node)));
  }
  return late;
}

function isAwaited(merge: StageMerge, node: NodeId): boolean {
  if (merge.phase === "committing") return merge.weights.has(node) && !merge.payloads.has(node);
  if (merge.phase === "applying") return !merge.applied.has(node);
  return merge.slices.some((slice) =>
    slice.accepted === null && slice.asked.includes(node) && !slice.results.has(node)
  );
}
