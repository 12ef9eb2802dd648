/**
 * A hash tree over a miner's results in a step: the root commits to every result, and a path proves that one is in it.
 *
 * Leaves are hashes of the work (workHash), in the order of the orchestrator's request. A node is the hash of up to
 * sixteen children: that takes a third of the hashing of a binary tree, and paths are only written for the few wrong
 * results. A leaf's text begins with a bracket and a node's with a word, so neither passes as the other.
 */

import { sha256 } from "../sha256.ts";

/** From a leaf to the root: the children of each node, with the known one left empty. */
export type WorkPath = readonly (readonly string[])[];

const children = 16; // of a node
const noWork = "0".repeat(64); // root over nothing

const nodeHash = (hashes: readonly string[]): string => sha256(`node ${hashes.join(" ")}`);

export function rootOf(leaves: readonly string[]): string {
  let level = leaves;
  while (level.length > 1) level = nextLevel(level);
  return level[0] ?? noWork;
}

function nextLevel(level: readonly string[]): string[] {
  const next: string[] = [];
  for (let i = 0; i < level.length; i += children) next.push(nodeHash(level.slice(i, i + children)));
  return next;
}

export function pathOf(leaves: readonly string[], index: number): WorkPath {
  const path: string[][] = [];
  let at = index;
  for (let level = leaves; level.length > 1; level = nextLevel(level)) {
    const first = at - at % children;
    path.push(level.slice(first, first + children).map((hash, i) => first + i === at ? "" : hash));
    at = first / children;
  }
  return path;
}

/** The root that the path leads to; null: invalid, because one of its nodes does not have exactly one empty child. */
export function rootFrom(leaf: string, path: WorkPath): string | null {
  let known = leaf;
  for (const node of path) {
    if (node.filter((hash) => hash === "").length !== 1) return null;
    known = nodeHash(node.map((hash) => hash === "" ? known : hash));
  }
  return known;
}
