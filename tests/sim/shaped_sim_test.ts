/** Simulated swarms whose lines are given in the words of `iota swarm --links`. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { parseLinks } from "../../cli/swarm/chaos/link_shape.ts";
import { pass } from "../support/swarm/pass_simulation.ts";

const run = (words: string) =>
  pass({ seed: 5, miners: 12, minutes: 5, forwardMs: 60, faults: [], links: parseLinks(words)! });

Deno.test("Simulated lines: more delay and less rate are fewer steps, and nothing else breaks", () => {
  const [near, far, thin] = ["1ms", "150ms", "1ms 10kbit"].map(run);
  assertLess(far!.steps, near!.steps);
  assertLess(thin!.steps, near!.steps);
  assertEquals(run("150ms").steps, far!.steps, "the same again");
});

Deno.test("Simulated lines: connections that a line cuts come back, and the run goes on", () => {
  const { steps, microbatchesIssued, microbatchesCredited } = run("40ms 20mbit jitter 10ms reset 30s");
  assert(steps > 5, `${steps} steps`);
  assertLess(microbatchesIssued - microbatchesCredited, microbatchesIssued / 4);
});
