/** Pending answers of participants in a merge's current phase. */

import { assert, present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import type { StageMerge } from "./merge_state.ts";

export function owe(merge: StageMerge, node: NodeId): void {
  merge.owing.set(node, (merge.owing.get(node) ?? 0) + 1);
}

export function settle(merge: StageMerge, node: NodeId): void {
  const left = present(merge.owing.get(node), "an answer was pending") - 1;
  assert(left >= 0, "pending answers are never negative");
  if (left === 0) merge.owing.delete(node);
  else merge.owing.set(node, left);
}

export function forgive(merge: StageMerge, node: NodeId): void {
  merge.owing.delete(node);
  merge.showing.delete(node);
  merge.doubters.delete(node);
}
