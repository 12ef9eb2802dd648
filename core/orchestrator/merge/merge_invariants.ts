/**
 * What must hold of a stage's merge after every event.
 */

import { assert, present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import type { StageMerge } from "./merge_state.ts";
import type { OrchestratorState } from "../state.ts";

export function assertMerge(state: OrchestratorState, merge: StageMerge): void {
  for (const node of merge.participants) assert(state.members.has(node), `A participant must be a member: ${node}`);
  const open = merge.slices.filter((slice) => slice.accepted === null).length;
  assert(open === merge.openSlices, `Open slices must be ${open}: current value is ${merge.openSlices}`);
  for (const [node, count] of merge.owing) {
    assert(merge.participants.has(node), `Who owes an answer must take part: ${node}`);
    const owed = owedBy(merge, node);
    assert(owed === count, `${node} must owe ${owed} answers: current value is ${count}`);
  }
  for (const node of merge.participants) {
    assert(owedBy(merge, node) === 0 || merge.owing.has(node), `The answers of ${node} must be awaited`);
  }
  for (const node of merge.checking) assert(merge.payloads.has(node), `A checked payload must be committed: ${node}`);
  for (const node of merge.doubters) {
    assert(node === "hub" || merge.participants.has(node), `Who missed a blob must take part: ${node}`);
  }
  for (const node of merge.showing) assert(merge.mend !== null && merge.owing.has(node), `${node} must be waited for`);
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
