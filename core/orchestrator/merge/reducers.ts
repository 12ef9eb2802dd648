/**
 * Reducers of each slice, answers still owed, and what happens to a stage's merge when a replica leaves it.
 */

import { assert, present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { WeightedPayload } from "../../protocol/message.ts";
import { type Payload, payloadSlice, type Reducer, type SliceWork, type StageMerge } from "./merge_state.ts";
import { benchMember } from "../members/roster_changes.ts";
import type { OrchestratorState } from "../state.ts";

export function owe(merge: StageMerge, node: NodeId): void {
  merge.owing.set(node, (merge.owing.get(node) ?? 0) + 1);
}

export function settle(merge: StageMerge, node: NodeId): void {
  const left = present(merge.owing.get(node), "an answer was owed") - 1;
  assert(left >= 0, "Answers owed must not be negative");
  if (left === 0) merge.owing.delete(node);
  else merge.owing.set(node, left);
}

/** The node owes nothing any more. */
export function forgive(merge: StageMerge, node: NodeId): void {
  merge.owing.delete(node);
  merge.showing.delete(node);
  merge.doubters.delete(node);
}

/** The merge no longer waits for this node's work of the round. */
export function dropWeight(merge: StageMerge, node: NodeId): void {
  merge.wholeWeight -= merge.weights.get(node) ?? 0;
  merge.weights.delete(node);
}

/** A slice and its assigned reducers. */
export interface ReduceRequest {
  readonly index: number;
  readonly reducer: Reducer;
}

/** Asks for these reductions; the reducers of one slice share its list of payloads. */
export function askReducers(
  state: OrchestratorState,
  { merge, requests }: { merge: StageMerge; requests: readonly ReduceRequest[] },
): OrchestratorEffect[] {
  for (const { reducer, index } of requests) {
    if (reducer === "hub") continue;
    owe(merge, reducer);
    present(merge.slices[index], "a slice to reduce").told.add(reducer);
  }
  return reduceEffects(state, { merge, requests });
}

/** Builds the requests; also used to repeat them. */
export function reduceEffects(
  state: OrchestratorState,
  { merge, requests }: { merge: StageMerge; requests: readonly ReduceRequest[] },
): OrchestratorEffect[] {
  if (requests.length === 0) return [];
  const { round } = state;
  const payloads = payloadsInOrder(merge);
  const inputsOf = new Map<number, readonly WeightedPayload[]>();
  return requests.map(({ index, reducer }) => {
    const inputs = inputsOf.get(index) ?? sliceInputs(merge, { payloads, index });
    inputsOf.set(index, inputs);
    return reducer === "hub"
      ? { type: "refereeSlice", round, edition: merge.edition, stage: merge.stage, slice: index, inputs }
      : send(reducer, { type: "reduceSlice", round, edition: merge.edition, slice: index, inputs });
  });
}

interface Contribution {
  readonly node: NodeId;
  readonly payload: Payload;
  readonly weight: number;
}

/** Payloads in slot order: `weights` was filled in that order. */
function payloadsInOrder(merge: StageMerge): Contribution[] {
  const payloads: Contribution[] = [];
  for (const [node, weight] of merge.weights) {
    const payload = merge.payloads.get(node);
    if (payload !== undefined) payloads.push({ node, payload, weight });
  }
  return payloads;
}

function sliceInputs(
  merge: StageMerge,
  { payloads, index }: { payloads: readonly Contribution[]; index: number },
): WeightedPayload[] {
  const { without } = present(merge.slices[index], "a slice to reduce");
  const inputs: WeightedPayload[] = [];
  for (const { node, payload, weight } of payloads) {
    if (without.has(node)) continue;
    inputs.push({ payload: payloadSlice(payload, index), weight, scale: merge.scales.get(node) ?? 1 });
  }
  const counted = inputs.filter(({ scale }) => scale > 0);
  return counted.length > 0 ? counted : inputs; // the store may have lost the others
}

/** Takes nodes out of a stage's merge; their work goes to others. What they committed counts, unless they were expelled. */
export function dropParticipants(
  state: OrchestratorState,
  options: { merge: StageMerge; nodes: readonly NodeId[]; nowMs: number },
): OrchestratorEffect[] {
  const { merge, nodes } = options;
  const effects: OrchestratorEffect[] = [];
  for (const node of nodes) {
    merge.participants.delete(node);
    merge.applied.delete(node);
    forgive(merge, node);
    if (state.expelled.has(node)) withdraw(merge, node);
    if (!merge.payloads.has(node)) dropWeight(merge, node);
    const member = state.members.get(node);
    if (member !== undefined) benchMember(state, member);
    if (merge.phase === "reducing" && !merge.isStale) effects.push(...replaceReducer(state, { merge, node }));
  }
  return effects;
}

/** Removes an expelled node's payload; slices reduced with it are reduced again. */
function withdraw(merge: StageMerge, node: NodeId): void {
  if (merge.phase !== "committing" && merge.phase !== "reducing") return; // the payload was checked, and others have applied it
  if (merge.payloads.has(node)) {
    withdrawPayload(merge, node);
    merge.isStale = merge.phase === "reducing";
  }
}

/** Removes a payload from the merge. */
export function withdrawPayload(merge: StageMerge, node: NodeId): void {
  if (merge.payloads.delete(node)) merge.committedWeight -= merge.weights.get(node) ?? 0;
  merge.checking.delete(node);
  merge.lengths.delete(node);
  merge.shapes.delete(node);
  dropWeight(merge, node);
}

/** Gives a reducer's open slices to others, finally to the hub. */
export function replaceReducer(
  state: OrchestratorState,
  options: { merge: StageMerge; node: NodeId },
): OrchestratorEffect[] {
  const { merge, node } = options;
  const requests: ReduceRequest[] = [];
  forgive(merge, node);
  for (const [index, slice] of merge.slices.entries()) {
    const place = slice.asked.indexOf(node);
    if (slice.accepted !== null || place === -1 || slice.results.has(node)) continue;
    const other = nextReducer(merge, slice);
    slice.asked.splice(place, 1);
    merge.unjudged.push(index);
    if (slice.asked.includes(other)) continue;
    slice.asked.push(other);
    requests.push({ index, reducer: other });
  }
  return askReducers(state, { merge, requests });
}

function nextReducer(merge: StageMerge, slice: SliceWork): Reducer {
  for (const candidate of merge.participants) {
    if (!slice.asked.includes(candidate) && !merge.slow.has(candidate)) return candidate;
  }
  return "hub";
}
