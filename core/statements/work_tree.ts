/**
 * A hash tree over a miner's results in a step; a path proves that a result is in it.
 *
 * Leaves (workHash) are in the order of the orchestrator's request. A node has up to sixteen children, a third of a
 * binary tree's hashing; paths are written only for the few wrong results. A leaf's text begins with a bracket, a
 * node's with a word, so neither passes as the other.
 */

import { sha256 } from "../sha256.ts";

/** From leaf to root: each node's children, the known one empty. */
export type WorkPath = readonly (readonly string[])[];

const children = 16; // of a node
const noWork = "0".repeat(64);

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

/** Null: a node does not have exactly one empty child. */
export function rootFrom(leaf: string, path: WorkPath): string | null {
  let known = leaf;
  for (const node of path) {
    if (node.filter((hash) => hash === "").length !== 1) return null;
    known = nodeHash(node.map((hash) => hash === "" ? known : hash));
  }
  return known;
}
