/** Equal replicas of a stage are handed equal work: what does not divide evenly, slow links, and a task that was slow once. */

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import { type PacedOptions, PacedSwarm } from "../support/swarm/paced_swarm.ts";

/** Tasks of each replica of the first stage, step by step. */
function handedOut(
  { steps, delay = 1, ...options }: Omit<PacedOptions, "seed" | "stageCosts"> & { steps: number; delay?: number },
): number[][] {
  const { replicas = 2 } = options;
  const swarm = new PacedSwarm({ ...{ seed: 1, stageCosts: [10, 10] }, ...options });
  const nodes = Array.from({ length: 2 * replicas }, () => swarm.join(1)).filter((node) => swarm.stageOf(node) === 0);
  return Array.from({ length: steps }, (_, step) => {
    if (step === 1) swarm.delay(nodes[0]!, delay);
    swarm.round();
    const { miners } = swarm.hub.state.outcomes.at(-1)!;
    return nodes.map((node) => miners.find((miner) => miner.node === node)!.tasks);
  });
}

/** The most that a replica did beside the least. */
function apart(steps: readonly (readonly number[])[]): number {
  const sums = steps[0]!.map((_, place) => steps.reduce((sum, tasks) => sum + tasks[place]!, 0));
  return Math.max(...sums) / Math.min(...sums);
}

Deno.test("Even work: microbatches that do not divide evenly go to each replica in turn, on any link, after a slow task as well", () => {
  for (const latencyMs of [0, 5, 20]) {
    for (const [microbatches, replicas] of [[3, 2], [4, 3]] as const) {
      for (const delay of [1, 10]) {
        const steps = handedOut({ microbatches, replicas, latencyMs, delay, noise: 0.1, steps: 45 });
        const rule = `${microbatches} among ${replicas}, ${latencyMs} ms, a task ${delay} times as slow: ${
          steps.join("; ")
        }`;
        assertLessOrEqual(apart(steps.slice(6)), 1.1, rule);
      }
    }
  }
});

Deno.test("Even work: a task that was slow once costs its replica tasks of that step, and the next ones are even", () => {
  for (const delay of [10, 30]) {
    const steps = handedOut({ microbatches: 8, noise: 0, delay, steps: 8 });
    assertEquals(steps[0], [8, 8]);
    assert(steps[1]![0]! < 8, `${steps[1]}`);
    for (const tasks of steps.slice(2)) assertEquals(tasks, [8, 8], `a task ${delay} times as slow`);
  }
});
