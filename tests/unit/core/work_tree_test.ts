/** The tree over a step's results and the chain over steps: every leaf has a path to the root, and nothing else has. */

import { assertEquals, assertNotEquals } from "@std/assert";
import { sha256 } from "../../../core/sha256.ts";
import { chainStart, nextHead } from "../../../core/statements/work_chain.ts";
import { pathOf, rootFrom, rootOf } from "../../../core/statements/work_tree.ts";

const leavesOf = (count: number) => Array.from({ length: count }, (_, i) => sha256(`leaf ${i}`));

Deno.test("Work tree: the path of every leaf leads to the root, in trees of one level to three", () => {
  for (const count of [1, 2, 3, 15, 16, 17, 31, 32, 33, 255, 256, 257, 300]) {
    const leaves = leavesOf(count);
    for (const [i, leaf] of leaves.entries()) assertEquals(rootFrom(leaf, pathOf(leaves, i)), rootOf(leaves));
  }
});

Deno.test("Work tree: another leaf, another place or another order leads elsewhere", () => {
  const leaves = leavesOf(40);
  const root = rootOf(leaves);
  assertNotEquals(rootFrom(sha256("another"), pathOf(leaves, 3)), root);
  assertNotEquals(rootFrom(leaves[3]!, pathOf(leaves, 4)), root);
  assertNotEquals(rootOf(leaves.toReversed()), root);
  assertNotEquals(rootOf(leaves.slice(1)), root);
  const [lowest, ...above] = pathOf(leaves, 3);
  assertEquals(rootFrom(sha256("another"), [lowest!.with(3, leaves[3]!), ...above]), null, "nodes without its place");
  assertEquals(rootFrom(leaves[3]!, [lowest!.with(4, ""), ...above]), null, "two places");
  assertEquals(rootOf([]), "0".repeat(64));
});

Deno.test("Work chain: a head depends on every step before it and on their order", () => {
  const [a, b] = [0, 1].map((step) => ({ round: 0, step, root: sha256(`root ${step}`) })) as [Link, Link];
  const head = nextHead(nextHead(chainStart, a), b);
  assertNotEquals(nextHead(nextHead(chainStart, b), a), head);
  assertNotEquals(nextHead(nextHead(chainStart, { ...a, round: 1 }), b), head);
  assertEquals(head, sha256(`step ${sha256(`step ${chainStart} 0 0 ${a.root}`)} 0 1 ${b.root}`));
});

type Link = Parameters<typeof nextHead>[1];
