/**
 * A tree of hashes over what a miner delivered in a step: its root commits to every result, and a path shows that one is in it.
 *
 * Leaves are hashes of the work (workHash), in the order of the hub's request. A node is the hash of its two children; one
 * without a partner moves up as it is. A leaf's text begins with a bracket and a node's with a word, so neither passes as the
 * other.
 */

import { sha256 } from "../sha256.ts";

/** From a leaf to the root: each sibling with its side, `<` for the left. */
export type WorkPath = readonly string[];

const noWork = "0".repeat(64); // root over nothing

const nodeHash = (left: string, right: string): string => sha256(`node ${left} ${right}`);

export function rootOf(leaves: readonly string[]): string {
  let level = leaves;
  while (level.length > 1) level = nextLevel(level);
  return level[0] ?? noWork;
}

function nextLevel(level: readonly string[]): string[] {
  const next: string[] = [];
  for (let i = 0; i < level.length; i += 2) {
    const right = level[i + 1];
    next.push(right === undefined ? level[i]! : nodeHash(level[i]!, right));
  }
  return next;
}

export function pathOf(leaves: readonly string[], index: number): WorkPath {
  const path: string[] = [];
  let at = index;
  for (let level = leaves; level.length > 1; level = nextLevel(level)) {
    const sibling = level[at ^ 1];
    if (sibling !== undefined) path.push(`${at % 2 === 0 ? ">" : "<"}${sibling}`);
    at >>= 1;
  }
  return path;
}

/** The root that the path leads to. */
export function rootFrom(leaf: string, path: WorkPath): string {
  return path.reduce((hash, step) => {
    const sibling = step.slice(1);
    return step.startsWith("<") ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
  }, leaf);
}
