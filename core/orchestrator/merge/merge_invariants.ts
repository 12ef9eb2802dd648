/** Invariants of a stage's merge after every event. */

import { assert, present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import type { StageMerge } from "./merge_state.ts";
import type { OrchestratorState } from "../state.ts";

export function assertMerge(state: OrchestratorState, merge: StageMerge): void {
  for (const node of merge.participants) assert(state.members.has(node), `participant ${node} is a member`);
  const open = merge.slices.filter((slice) => slice.accepted === null).length;
  assert(open === merge.openSlices, `${open} slices are open, and ${merge.openSlices} are counted`);
  for (const [node, count] of merge.owing) {
    assert(merge.participants.has(node), `${node} has a pending answer and takes part`);
    const owed = owedBy(merge, node);
    assert(owed === count, `${node} has ${owed} pending answers, and ${count} are counted`);
  }
  for (const node of merge.participants) {
    assert(owedBy(merge, node) === 0 || merge.owing.has(node), `the answers of ${node} are pending`);
  }
  for (const node of merge.checking) assert(merge.payloads.has(node), `the checked payload of ${node} is committed`);
  for (const node of merge.doubters) {
    assert(node === "hub" || merge.participants.has(node), `${node} missed a blob and takes part`);
  }
  for (const node of merge.showing) assert(merge.mend !== null && merge.owing.has(node), `${node} is waited for`);
  if (merge.phase === "agreed") present(merge.agreed, "an agreed stage has parameters");
}

function owedBy(merge: StageMerge, node: NodeId): number {
  switch (merge.phase) {
    case "committing":
      return merge.weights.has(node) && !merge.payloads.has(node) ? 1 : 0;
    case "reducing":
      return Number(merge.showing.has(node)) +
        merge.slices.filter((slice) => slice.asked.includes(node) && !slice.results.has(node)).length;
    case "applying":
      return merge.applied.has(node) ? 0 : 1;
    case "agreed":
      return 0;
  }
}
