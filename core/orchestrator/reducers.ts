/**
 * Who reduces a slice, and what happens to a stage's merge when a replica leaves it.
 */

import { present } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import { type OrchestratorEffect, record, send, type WeightedPayload } from "./event.ts";
import type { OrchestratorState, Reducer, StageMerge } from "./state.ts";

function weightedPayloads(state: OrchestratorState, options: { merge: StageMerge; index: number }): WeightedPayload[] {
  const { merge, index } = options;
  return replicasInOrder(merge).map(([node, refs]) => ({
    payload: present(refs[index], "a payload has every slice"),
    weight: present(merge.weights.get(node), `a weight for ${node} in round ${state.round}`),
  }));
}

/** Payloads in slot order: `weights` was filled in that order. */
function replicasInOrder(merge: StageMerge): [NodeId, readonly BlobRef[]][] {
  return [...merge.weights.keys()].flatMap((node): [NodeId, readonly BlobRef[]][] => {
    const refs = merge.payloads.get(node);
    return refs === undefined ? [] : [[node, refs]];
  });
}

export function askReducer(
  state: OrchestratorState,
  options: { merge: StageMerge; index: number; reducer: Reducer },
): OrchestratorEffect {
  const { merge, index, reducer } = options;
  const inputs = weightedPayloads(state, { merge, index });
  const { round } = state;
  return reducer === "hub"
    ? { type: "refereeSlice", round, stage: merge.stage, slice: index, inputs }
    : send(reducer, { type: "reduceSlice", round, slice: index, inputs });
}

/** Takes nodes out of a stage's merge; their work goes to others. `expel` ends their membership for a proven lie. */
export function dropParticipants(
  state: OrchestratorState,
  options: { merge: StageMerge; nodes: readonly NodeId[]; expel?: string },
): OrchestratorEffect[] {
  const { merge, nodes, expel } = options;
  const effects: OrchestratorEffect[] = [];
  for (const node of nodes) {
    merge.participants = merge.participants.filter((other) => other !== node);
    merge.applied.delete(node);
    if (!merge.payloads.has(node)) merge.weights.delete(node);
    const member = state.members.get(node);
    if (member !== undefined) member.status = "waiting";
    if (expel !== undefined) {
      state.members.delete(node);
      state.expelled.add(node);
      effects.push(
        { type: "disconnect", node, fault: fault("notAdmitted", expel) },
        record({ type: "nodeLost", node, reason: expel, tasksReissued: 0 }),
      );
    }
    if (merge.phase === "reducing") effects.push(...replaceReducer(state, { merge, node }));
  }
  return effects;
}

function replaceReducer(state: OrchestratorState, options: { merge: StageMerge; node: NodeId }): OrchestratorEffect[] {
  const { merge, node } = options;
  const effects: OrchestratorEffect[] = [];
  for (const [index, slice] of merge.slices.entries()) {
    const place = slice.asked.indexOf(node);
    if (slice.accepted !== null || place === -1 || slice.results.has(node)) continue;
    const other: Reducer = merge.participants.find((candidate) => !slice.asked.includes(candidate)) ?? "hub";
    slice.asked.splice(place, 1);
    if (slice.asked.includes(other)) continue;
    slice.asked.push(other);
    effects.push(askReducer(state, { merge, index, reducer: other }));
  }
  return effects;
}
