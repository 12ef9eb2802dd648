/**
 * The merge that ends a round: every stage at once, each through committing, reducing, applying, agreed.
 *
 * Butterfly all-reduce: the stage vector is cut into slices, each reduced by two replicas; equal hashes are accepted, unequal
 * ones go to a third reducer and the odd one out leaves the run within the round. Where too few replicas are alive the hub
 * itself is the second or third reducer, so no slice is ever accepted on one word (a single payload needs no reduction).
 * Then every replica takes the outer step and shows the hashes of its parameters and outer momentum; whoever shows others must
 * load the agreed ones. One word of several replicas' is not believed here either: the hub takes the step and compares.
 * Phases close by answers, by quorum and grace, or by deadline, never by hope; the deadlines are merge_deadlines.ts's.
 */

import { assert, present } from "../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../ids.ts";
import { agreement } from "../merge/agreement.ts";
import { contributionWeights } from "../merge/average.ts";
import { assignReducers, sliceLayout } from "../merge/butterfly.ts";
import { nextBelow } from "../prng.ts";
import { type OrchestratorEffect, record, send } from "./event.ts";
import { holdsAgreed, type MergedStage, type MergePhase, payloadSlice, type Reducer } from "./merge_state.ts";
import { type SliceWork, type StageMerge, voteOf } from "./merge_state.ts";
import { noteQuorum } from "./merge_deadlines.ts";
import { askReducers, dropParticipants, owe } from "./reducers.ts";
import { replicasOf } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { OrchestratorState } from "./state.ts";

export function startMerge(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  assert(state.work === null && state.merge === null, "Cannot start a merge as the step must be closed");
  state.phase = "merging";
  const stages = state.stages.map((spec) => openStage(state, { stage: spec.index, nowMs }));
  state.merge = { stages, startedMs: nowMs };
  const effects: OrchestratorEffect[] = [];
  for (const merge of stages) {
    effects.push(phaseRecord(state, merge));
    for (const node of merge.participants) effects.push(askForPayload(state, { merge, node }));
  }
  return effects;
}

export function askForPayload(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  const contributes = merge.weights.has(node);
  return send(node, { type: "startMerge", round: state.round, slices: merge.layout, contributes });
}

function openStage(state: OrchestratorState, options: { stage: StageIndex; nowMs: number }): StageMerge {
  const replicas = replicasOf(state, options.stage);
  const workers = replicas.filter((member) => member.roundTasks > 0);
  const counted = contributionWeights(workers.map((member) => member.roundTasks));
  const weights = new Map(workers.map((member, i) => [member.node, present(counted[i], "a weight a worker")]));
  for (const member of replicas) {
    state.progress -= member.roundTasks;
    member.roundTasks = 0;
  }
  const length = present(state.stageFloats[options.stage], "a length a stage");
  return {
    stage: options.stage,
    phase: "committing",
    replicas: replicas.length,
    participants: new Set(replicas.map((member) => member.node)),
    weights,
    layout: sliceLayout({ length, contributors: Math.max(replicas.length, 1) }),
    payloads: new Map(),
    slices: [],
    openSlices: 0,
    unjudged: [],
    owing: new Map([...weights.keys()].map((node) => [node, 1])),
    slow: new Set(),
    doubters: new Set(),
    doubted: new Set(),
    showing: new Set(),
    shown: new Map(),
    mend: null,
    applied: new Map(),
    isHubAsked: false,
    isHubUnable: false,
    refereed: null,
    agreed: null,
    deadlineMs: options.nowMs + state.config.limits.mergePhaseMs,
    hasQuorum: false,
    wholeWeight: counted.reduce((sum, weight) => sum + weight, 0),
    committedWeight: 0,
    uploadedBytes: 0,
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
  const { merge } = options;
  switch (merge.phase) {
    case "committing":
      return merge.owing.size === 0 ? reduce(state, options) : [];
    case "reducing": {
      const effects = judgeSlices(state, options);
      return merge.phase === "reducing" && merge.openSlices === 0 ? [...effects, ...apply(state, options)] : effects;
    }
    case "applying":
      return merge.owing.size === 0 ? agree(state, options) : [];
    case "agreed":
      return [];
  }
}

export function enter(
  state: OrchestratorState,
  options: { merge: StageMerge; phase: MergePhase; nowMs: number },
): OrchestratorEffect {
  const { merge, phase, nowMs } = options;
  merge.phase = phase;
  merge.owing.clear();
  merge.unjudged.length = 0;
  for (const nodes of [merge.doubters, merge.doubted, merge.showing]) nodes.clear();
  merge.mend = null;
  merge.hasQuorum = false;
  merge.deadlineMs = nowMs + state.config.limits.mergePhaseMs;
  return phaseRecord(state, merge);
}

function reduce(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const [only = [], second] = merge.payloads.values();
  const entered = enter(state, { merge, phase: "reducing", nowMs });
  if (second === undefined) {
    merge.slices = only.map((_, index) =>
      newSlice({ asked: [], accepted: payloadSlice(merge, { payload: only, index }) })
    );
    merge.openSlices = 0;
    return [entered];
  }
  const inOrder = [...merge.participants];
  const replicas = inOrder.length;
  const pairs = replicas >= 2
    ? assignReducers({ slices: merge.layout.length, miners: replicas, stream: state.stream })
    : merge.layout.map(() => replicas === 0 ? [] : [0]);
  merge.slices = pairs.map((pair) => {
    const asked: Reducer[] = [...pair].map((index) => present(inOrder[index], "a reducer is a participant"));
    if (asked.length < 2) asked.push("hub");
    return newSlice({ asked, accepted: null });
  });
  merge.openSlices = merge.slices.length;
  const requests = merge.slices.flatMap(({ asked }, index) => asked.map((reducer) => ({ index, reducer })));
  return [entered, ...askReducers(state, { merge, requests })];
}

const newSlice = (given: Pick<SliceWork, "asked" | "accepted">): SliceWork => ({
  ...given,
  told: new Set(),
  results: new Map(),
  without: new Set(),
});

function judgeSlices(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge } = options;
  const effects: OrchestratorEffect[] = [];
  for (let index = merge.unjudged.pop(); index !== undefined; index = merge.unjudged.pop()) {
    effects.push(...judgeSlice(state, { ...options, index }));
  }
  noteQuorum(state, options);
  return effects;
}

/** Compares a slice's hashes; equal: accepted, unequal: a third reducer, then the odd one out is expelled. */
function judgeSlice(
  state: OrchestratorState,
  options: { merge: StageMerge; index: number; nowMs: number },
): OrchestratorEffect[] {
  const { merge, index, nowMs } = options;
  const slice = present(merge.slices[index], "a judged slice exists");
  if (slice.accepted !== null || slice.asked.some((reducer) => !slice.results.has(reducer))) return [];
  const answers = [...slice.results];
  if (answers.length === 1) { // every replica is gone, or a payload: the hub's own result is all there is
    accept(merge, { slice, ref: present(answers[0], "one answer")[1] });
    return [];
  }
  const verdict = agreement(answers.map(([, ref]) => ref.hash));
  if (verdict.type === "accepted") {
    const ref = present(answers.find(([, each]) => each.hash === verdict.hash), "the accepted hash was given")[1];
    accept(merge, { slice, ref });
    const liars = verdict.liars.map((i) => present(answers[i], "an answer")[0]).filter((reducer): reducer is NodeId =>
      reducer !== "hub"
    );
    const disputes = liars.map((liar) =>
      record({ type: "sliceDisputed", round: state.round, stage: merge.stage, slice: index, liar })
    );
    if (liars.length === 0) return [];
    const expel = "its reduced slice differed from two others";
    return [...disputes, ...dropParticipants(state, { merge, nodes: liars, expel, nowMs })];
  }
  const others = [...merge.participants].filter((node) => !slice.asked.includes(node) && !merge.slow.has(node));
  const third: Reducer = others.length === 0
    ? "hub"
    : present(others[nextBelow(state.stream, others.length)], "a third");
  if (verdict.type === "unresolved" || slice.asked.includes(third)) return skipMerge(state, { merge, nowMs });
  slice.asked.push(third);
  return [
    record({ type: "sliceDisputed", round: state.round, stage: merge.stage, slice: index, liar: null }),
    ...askReducers(state, { merge, requests: [{ index, reducer: third }] }),
  ];
}

function accept(merge: StageMerge, { slice, ref }: { slice: SliceWork; ref: BlobRef }): void {
  slice.accepted = ref;
  merge.openSlices -= 1;
}

function apply(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const entered = enter(state, { merge, phase: "applying", nowMs });
  const nodes = [...merge.participants].filter((node) => !merge.applied.has(node)); // some may have, if slices were lost since
  for (const node of nodes) owe(merge, node);
  return [entered, ...nodes.map((node) => askToApply(state, { merge, node }))];
}

export function askToApply(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  return send(node, { type: "applyMerge", round: state.round, slices: acceptedSlices(merge) });
}

function acceptedSlices(merge: StageMerge): BlobRef[] {
  return merge.slices.map((slice) => present(slice.accepted, "all slices are accepted"));
}

export function keepStart(merge: StageMerge): void {
  merge.slices = [];
  merge.openSlices = 0;
}

/** Nothing of this round can be used for the stage: it keeps the parameters it began with. */
export function skipMerge(
  state: OrchestratorState,
  options: { merge: StageMerge; nowMs: number },
): OrchestratorEffect[] {
  const { merge } = options;
  keepStart(merge);
  const text = `Stage ${merge.stage} keeps the parameters of round ${state.round} as its payloads could not be merged`;
  return [record({ type: "warning", text }), ...apply(state, options)];
}

/** One result for all: the majority's; without one, or with a single vote of several, the hub computes it. */
function agree(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  const agreed = merge.refereed ?? majority(merge);
  if (agreed === null) {
    if (merge.isHubAsked) return [];
    merge.isHubAsked = true;
    return [askHubToApply(state, merge)];
  }
  merge.agreed = agreed;
  const odd = [...merge.participants].filter((node) => !holdsAgreed(merge, node));
  state.counters.disagreements += odd.length;
  for (const node of odd) benchMember(state, present(state.members.get(node), "a participant is a member"));
  return [enter(state, { merge, phase: "agreed", nowMs })];
}

export function askHubToApply(state: OrchestratorState, merge: StageMerge): OrchestratorEffect {
  const source = present(state.sources.stages[merge.stage], "a source a stage");
  return { type: "refereeMerge", round: state.round, stage: merge.stage, source, slices: acceptedSlices(merge) };
}

function majority(merge: StageMerge): MergedStage | null {
  const votes = new Map<string, { count: number; merged: MergedStage }>();
  for (const merged of merge.applied.values()) {
    const key = voteOf(merged);
    const vote = votes.get(key) ?? { count: 0, merged };
    votes.set(key, { ...vote, count: vote.count + 1 });
  }
  for (const vote of votes.values()) if (isBelieved(merge, vote.count)) return vote.merged;
  return null;
}

/** One vote is enough of whoever was alone from the start; else a liar would decide as soon as its partners are late or gone. */
function isBelieved(merge: StageMerge, votes: number): boolean {
  return 2 * votes > merge.applied.size && (votes > 1 || merge.replicas === 1 || merge.isHubUnable);
}
