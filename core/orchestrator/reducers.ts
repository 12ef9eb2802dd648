/**
 * Who reduces a slice, who still owes an answer, and what happens to a stage's merge when a replica leaves it.
 */

import { assert, present } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import { type OrchestratorEffect, record, send, type WeightedPayload } from "./event.ts";
import type { Reducer, SliceWork, StageMerge } from "./merge_state.ts";
import { benchMember, forgetMember } from "./roster_changes.ts";
import type { OrchestratorState } from "./state.ts";

export function owe(merge: StageMerge, node: NodeId): void {
  merge.owing.set(node, (merge.owing.get(node) ?? 0) + 1);
}

export function settle(merge: StageMerge, node: NodeId): void {
  const left = present(merge.owing.get(node), "an answer was owed") - 1;
  assert(left >= 0, "Answers owed must not be negative");
  if (left === 0) merge.owing.delete(node);
  else merge.owing.set(node, left);
}

/** It owes nothing any more. */
export function forgive(merge: StageMerge, node: NodeId): void {
  merge.owing.delete(node);
  merge.showing.delete(node);
  merge.doubters.delete(node);
}

/** Its work of the round is not waited for any more. */
export function dropWeight(merge: StageMerge, node: NodeId): void {
  merge.wholeWeight -= merge.weights.get(node) ?? 0;
  merge.weights.delete(node);
}

function weightedPayloads(state: OrchestratorState, options: { merge: StageMerge; index: number }): WeightedPayload[] {
  const { merge, index } = options;
  const without = merge.slices[index]?.without;
  return payloadsInOrder(merge).filter(([node]) => !without?.has(node)).map(([node, refs]) => ({
    payload: present(refs[index], "a payload has every slice"),
    weight: present(merge.weights.get(node), `a weight for ${node} in round ${state.round}`),
  }));
}

/** Payloads in slot order: `weights` was filled in that order. */
function payloadsInOrder(merge: StageMerge): [NodeId, readonly BlobRef[]][] {
  return [...merge.weights.keys()].flatMap((node): [NodeId, readonly BlobRef[]][] => {
    const refs = merge.payloads.get(node);
    return refs === undefined ? [] : [[node, refs]];
  });
}

export function askReducer(
  state: OrchestratorState,
  options: { merge: StageMerge; index: number; reducer: Reducer },
): OrchestratorEffect {
  const { merge, reducer } = options;
  if (reducer !== "hub") owe(merge, reducer);
  return reduceEffect(state, options);
}

/** The request itself, also to send it again. */
export function reduceEffect(
  state: OrchestratorState,
  { merge, index, reducer }: { merge: StageMerge; index: number; reducer: Reducer },
): OrchestratorEffect {
  const inputs = weightedPayloads(state, { merge, index });
  const { round } = state;
  return reducer === "hub"
    ? { type: "refereeSlice", round, stage: merge.stage, slice: index, inputs }
    : send(reducer, { type: "reduceSlice", round, slice: index, inputs });
}

/** Takes nodes out of a stage's merge; their work goes to others. `expel` ends their membership for a proven lie. */
export function dropParticipants(
  state: OrchestratorState,
  options: { merge: StageMerge; nodes: readonly NodeId[]; expel?: string; nowMs: number },
): OrchestratorEffect[] {
  const { merge, nodes, expel } = options;
  const effects: OrchestratorEffect[] = [];
  for (const node of nodes) {
    merge.participants.delete(node);
    merge.applied.delete(node);
    forgive(merge, node);
    if (!merge.payloads.has(node)) dropWeight(merge, node);
    const member = state.members.get(node);
    if (member !== undefined) {
      if (expel === undefined) benchMember(state, member);
      else {
        forgetMember(state, member);
        state.expelled.add(node);
        effects.push(
          { type: "disconnect", node, fault: fault("notAdmitted", expel) },
          record({ type: "nodeLost", node, reason: expel, tasksReissued: 0, tasksKept: 0 }),
        );
      }
    }
    if (merge.phase === "reducing") effects.push(...replaceReducer(state, { merge, node }));
  }
  return effects;
}

/** The open slices of a reducer go to others, at last to the hub. */
export function replaceReducer(
  state: OrchestratorState,
  options: { merge: StageMerge; node: NodeId },
): OrchestratorEffect[] {
  const { merge, node } = options;
  const effects: OrchestratorEffect[] = [];
  forgive(merge, node);
  for (const [index, slice] of merge.slices.entries()) {
    const place = slice.asked.indexOf(node);
    if (slice.accepted !== null || place === -1 || slice.results.has(node)) continue;
    const other = nextReducer(merge, slice);
    slice.asked.splice(place, 1);
    merge.unjudged.push(index);
    if (slice.asked.includes(other)) continue;
    slice.asked.push(other);
    effects.push(askReducer(state, { merge, index, reducer: other }));
  }
  return effects;
}

function nextReducer(merge: StageMerge, slice: SliceWork): Reducer {
  for (const candidate of merge.participants) {
    if (!slice.asked.includes(candidate) && !merge.slow.has(candidate)) return candidate;
  }
  return "hub";
}
