/**
 * Repair of blobs that a merge needs and the store has lost.
 *
 * If a reducer or replica misses a blob and the shell finds nothing lost, it is asked once more, then leaves the merge.
 * A lost payload is uploaded again by its contributor; if that fails, the orchestrator alone reduces the slice without
 * it, so that no late answer over other payloads counts. A lost result is reduced again. Invariant: no honest member is
 * banned or benched for what the store lost while anyone has it.
 */

import { present } from "../../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { reach } from "../marks.ts";
import { payloadSlice, type Reducer, type StageMerge } from "./merge_state.ts";
import { noteWithheld } from "../members/blame.ts";
import { enter } from "./merge_phase.ts";
import { askHubToApply, askToApply } from "./merging.ts";
import { gone, loseStage } from "./losses/lost_stages.ts";
import { askForPayload, checkPayload } from "./payloads/payload_check.ts";
import { owe, settle } from "./owing.ts";
import { dropParticipants } from "./participants.ts";
import { reduceEffects, type ReduceRequest } from "./reducers.ts";
import type { OrchestratorState } from "../state.ts";

const mostReopened = 4; // then the store counts as broken
const mostShown = 4; // then the store or the contributor counts as broken

interface Mend {
  readonly merge: StageMerge;
  readonly nowMs: number;
}

export function mendMerges(state: OrchestratorState): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const merge of state.merge?.stages ?? []) {
    if (merge.mend === "showing" && merge.showing.size === 0) effects.push(...askDoubters(state, merge));
    if (merge.mend !== null || merge.doubters.size === 0 || mayStillApply(merge)) continue;
    merge.mend = "looking";
    effects.push(lookEffect(state, merge));
  }
  return effects;
}

/** Waits for replicas that may have read their slices before the loss: they have what the others need. */
const mayStillApply = (merge: StageMerge): boolean =>
  merge.phase === "applying" && [...merge.owing.keys()].some((node) => !merge.doubters.has(node));

/** Also repeats the check after a restart. */
export function lookEffect(state: OrchestratorState, merge: StageMerge): OrchestratorEffect {
  const { stage, phase } = merge;
  return { type: "checkBlobs", round: state.round, stage, phase, refs: neededBlobs(merge) };
}

function neededBlobs(merge: StageMerge): BlobRef[] {
  if (merge.phase === "applying") return merge.slices.flatMap(({ accepted }) => accepted ?? []);
  if (merge.phase !== "reducing") return [];
  const refs: BlobRef[] = [];
  for (const [index, { accepted, without }] of merge.slices.entries()) {
    if (accepted !== null) continue;
    for (const [node, payload] of merge.payloads) {
      if (!without.has(node)) refs.push(payloadSlice(payload, index));
    }
  }
  return refs;
}

export function onBlobsChecked(
  state: OrchestratorState,
  options: {
    round: number;
    stage: StageIndex;
    phase: StageMerge["phase"];
    lost: readonly BlobRef[];
    nowMs: number;
  },
): OrchestratorEffect[] {
  const { round, phase, nowMs } = options;
  const merge = state.merge?.stages[options.stage];
  if (merge?.mend !== "looking" || round !== state.round || phase !== merge.phase) return [];
  merge.mend = null;
  const lost = new Set(options.lost.map((ref) => ref.hash));
  if (lost.size === 0) return doubtDoubters(state, { merge, nowMs });
  merge.deadlineMs = Math.max(merge.deadlineMs, nowMs + state.config.limits.mergePhaseMs); // our loss makes nobody late
  const text =
    `Stage ${merge.stage} cannot be merged in round ${round}: ${lost.size} of its blobs are gone from the store or damaged; asking their makers`;
  const seen = record({ type: "warning", text });
  return [seen, ...(phase === "applying" ? reopen : askToShow)(state, { merge, lost, nowMs })];
}

/** Missed blobs may have been restored meanwhile; a second failure is the member's own. */
function doubtDoubters(state: OrchestratorState, { merge, nowMs }: Mend): OrchestratorEffect[] {
  const own = [...merge.doubters].filter((node): node is NodeId => node !== "hub" && merge.doubted.has(node));
  for (const node of own) {
    reach(state, "blob repair: nothing is lost, leaves the merge");
    merge.doubters.delete(node);
    if (merge.phase !== "agreed") noteWithheld(state, { node, duty: merge.phase });
  }
  if (merge.doubters.size > 0) reach(state, "blob repair: nothing is lost, asked once more");
  for (const node of merge.doubters) if (node !== "hub") merge.doubted.add(node);
  return [...askDoubters(state, merge), ...dropParticipants(state, { merge, nodes: own, nowMs })];
}

function askDoubters(state: OrchestratorState, merge: StageMerge): OrchestratorEffect[] {
  const doubters = [...merge.doubters];
  merge.doubters.clear();
  merge.mend = null;
  return doubters.flatMap((reducer) => openRequests(state, { merge, reducer }));
}

/** Repeats the requests of this phase that `reducer` has not answered. */
export function openRequests(
  state: OrchestratorState,
  { merge, reducer }: { merge: StageMerge; reducer: Reducer },
): OrchestratorEffect[] {
  if (merge.phase === "applying") {
    if (reducer !== "hub") return merge.applied.has(reducer) ? [] : [askToApply(state, { merge, node: reducer })];
    return merge.isHubAsked && merge.refereed === null ? [askHubToApply(state, merge)] : [];
  }
  const effects: OrchestratorEffect[] = [];
  if (reducer === "hub") { for (const node of merge.checking) effects.push(checkPayload(state, { merge, node })); }
  if (reducer !== "hub" && isPayloadOwed(merge, reducer)) effects.push(askForPayload(state, { merge, node: reducer }));
  if (merge.phase !== "reducing") return effects;
  const requests = merge.slices.flatMap(({ accepted, asked, results }, index): ReduceRequest[] => {
    const isOpen = accepted === null && asked.includes(reducer) && !results.has(reducer);
    return isOpen ? [{ index, reducer }] : [];
  });
  return [...effects, ...reduceEffects(state, { merge, requests })];
}

function isPayloadOwed(merge: StageMerge, node: NodeId): boolean {
  return merge.phase === "committing" ? !merge.payloads.has(node) : merge.showing.has(node);
}

function askToShow(
  state: OrchestratorState,
  { merge, lost, nowMs }: Mend & { lost: ReadonlySet<string> },
): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  const incomplete = new Set<number>();
  const leftOut = new Set<NodeId>();
  const open = [...merge.slices.entries()].filter(([, slice]) => slice.accepted === null);
  for (const [node, payload] of merge.payloads) {
    if (merge.showing.has(node)) continue;
    for (const [index, slice] of open) {
      if (!lost.has(payloadSlice(payload, index).hash) || slice.without.has(node)) continue;
      if (mayShow(merge, node)) {
        reach(state, "blob repair: a contributor uploads its payload again");
        merge.shown.set(node, timesShown(merge, node) + 1);
        merge.showing.add(node);
        owe(merge, node);
        effects.push(askForPayload(state, { merge, node }));
        break;
      }
      slice.without.add(node);
      incomplete.add(index);
      leftOut.add(node);
    }
  }
  merge.mend = "showing";
  if (leftOut.size > 0) reach(state, "blob repair: a payload is left out");
  for (const node of leftOut) effects.push(leftOutText(state, { merge, node }));
  const isNothingLeft = (index: number) =>
    present(merge.slices[index], "an open slice").without.size === merge.payloads.size;
  if ([...incomplete].some(isNothingLeft)) {
    reach(state, "blob repair: a slice has no payload left");
    return [...effects, ...loseStage(state, { merge, because: gone, nowMs })];
  }
  return [...effects, ...leaveToHub(state, { merge, slices: [...incomplete] })];
}

function leftOutText(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  const text =
    `Stage ${merge.stage} is merged in round ${state.round} without some or all of ${node}'s payload: the store lost it, and it cannot be uploaded again`;
  return record({ type: "warning", text });
}

const timesShown = (merge: StageMerge, node: NodeId): number => merge.shown.get(node) ?? 0;

/** Not once it has applied the merge (its contribution is gone) or missed a deadline. */
const mayShow = (merge: StageMerge, node: NodeId): boolean =>
  merge.participants.has(node) && !merge.applied.has(node) && !merge.slow.has(node) &&
  timesShown(merge, node) < mostShown;

function leaveToHub(
  state: OrchestratorState,
  { merge, slices }: { merge: StageMerge; slices: readonly number[] },
): OrchestratorEffect[] {
  for (const index of slices) {
    const slice = present(merge.slices[index], "an open slice");
    for (const node of slice.asked) if (node !== "hub" && !slice.results.has(node)) settle(merge, node);
    slice.asked.splice(0, slice.asked.length, "hub");
    slice.results.clear();
  }
  return reduceEffects(state, { merge, requests: slices.map((index) => ({ index, reducer: "hub" })) });
}

/** If a replica has applied the lost slices, the others load its result: new slices might differ. */
function reopen(
  state: OrchestratorState,
  { merge, lost, nowMs }: Mend & { lost: ReadonlySet<string> },
): OrchestratorEffect[] {
  if (merge.applied.size > 0 && !merge.doubters.has("hub")) {
    reach(state, "blob repair: others have applied lost slices");
    const nodes = [...merge.doubters].filter((node): node is NodeId => node !== "hub");
    merge.doubters.clear();
    return dropParticipants(state, { merge, nodes, nowMs });
  }
  merge.reopened += 1;
  if (merge.reopened > mostReopened) {
    reach(state, "blob repair: slices are lost again and again");
    return loseStage(state, { merge, because: gone, nowMs });
  }
  reach(state, "blob repair: lost slices are reduced again");
  const entered = enter(state, { merge, phase: "reducing", nowMs });
  merge.isHubAsked = false;
  merge.refereed = null;
  const slices: number[] = [];
  for (const [index, slice] of merge.slices.entries()) {
    if (slice.accepted === null || !lost.has(slice.accepted.hash)) continue;
    slice.accepted = null;
    merge.openSlices += 1;
    slices.push(index);
  }
  return [entered, ...leaveToHub(state, { merge, slices })];
}
