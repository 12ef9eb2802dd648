/** A replica leaves its stage's merge, or its payload stops counting. */

import type { NodeId } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import { benchMember } from "../members/roster_changes.ts";
import type { OrchestratorState } from "../state.ts";
import type { StageMerge } from "./merge_state.ts";
import { forgive } from "./owing.ts";
import { replaceReducer } from "./reducers.ts";

export function dropWeight(merge: StageMerge, node: NodeId): void {
  merge.wholeWeight -= merge.weights.get(node) ?? 0;
  merge.weights.delete(node);
}

/** Their work is reassigned. Their committed payloads count, unless they were banned. */
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

/** Slices reduced with a banned node's payload are reduced again. */
function withdraw(merge: StageMerge, node: NodeId): void {
  if (merge.phase !== "committing" && merge.phase !== "reducing") return; // others have applied it
  if (merge.payloads.has(node)) {
    withdrawPayload(merge, node);
    merge.isStale = merge.phase === "reducing";
  }
}

export function withdrawPayload(merge: StageMerge, node: NodeId): void {
  if (merge.payloads.delete(node)) merge.committedWeight -= merge.weights.get(node) ?? 0;
  merge.failures.set(node, "its payload was refused");
  merge.checking.delete(node);
  merge.lengths.delete(node);
  merge.shapes.delete(node);
  dropWeight(merge, node);
}
