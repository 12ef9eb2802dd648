/** Miners between stages over many rounds: the floor of two replicas, worthwhile moves, and no oscillation. */

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { PacedSwarm } from "../support/swarm/paced_swarm.ts";
import { isWhole, slowTest } from "../support/whole.ts";

slowTest("Rebalance: equal miners stay where they are, however noisy their tasks", () => {
  for (let seed = 1; seed <= 6; seed++) {
    const swarm = new PacedSwarm({ seed, stageCosts: [100, 100, 100], microbatches: 12, noise: 0.6 });
    for (let i = 0; i < 6 + seed; i++) swarm.join(1);
    for (let round = 0; round < 30; round++) swarm.round();
    assertEquals(swarm.moves, [], `seed ${seed}`);
  }
});

Deno.test("Rebalance: a stage that takes twice as long gets miners until it is level, and the moves end", () => {
  const swarm = new PacedSwarm({ seed: 1, stageCosts: [100, 300, 100], microbatches: 24, noise: 0.2, replicas: 4 });
  for (let i = 0; i < 12; i++) swarm.join(1);
  assertEquals(swarm.replicas, [4, 4, 4]);
  const beforeMs = swarm.slowestStageMs;
  for (let round = 0; round < 60; round++) swarm.round();
  assertLess(swarm.slowestStageMs, beforeMs * 0.75);
  const { length } = swarm.moves;
  for (let round = 0; round < 30; round++) swarm.round();
  assertEquals(swarm.moves.length, length);
  assert(swarm.moves.every(({ to }) => to as number === 1));
});

Deno.test("Rebalance: two replicas a stage stay two, also where one stage is three times as slow", () => {
  const swarm = new PacedSwarm({ seed: 2, stageCosts: [100, 300, 100], microbatches: 12, noise: 0.4 });
  for (let i = 0; i < 6; i++) swarm.join(1);
  for (let round = 0; round < 30; round++) swarm.round();
  assertEquals([swarm.moves.length, swarm.replicas], [0, [2, 2, 2]]);
});

Deno.test("Rebalance: a stage left with one replica gets a second at the next edge from a stage that has a third", () => {
  const swarm = new PacedSwarm({ seed: 3, stageCosts: [100, 100], microbatches: 8, noise: 0.1 });
  for (let i = 0; i < 5; i++) swarm.join(1);
  const [rich, poor] = swarm.replicas[0] === 3 ? [0, 1] : [1, 0];
  swarm.round();
  swarm.leave(swarm.miners.find((node) => swarm.stageOf(node) === poor)!);
  assertEquals(swarm.replicas[poor], 1);
  swarm.round();
  assertEquals(swarm.replicas, [2, 2]);
  assertEquals(swarm.moves.map(({ from, to }) => [from as number, to as number]), [[rich, poor]]);
  for (let round = 0; round < 20; round++) swarm.round();
  assertEquals(swarm.moves.length, 1);
});

Deno.test("Rebalance: a newcomer goes to a stage with one replica, though another has less capacity", () => {
  const swarm = new PacedSwarm({ seed: 4, stageCosts: [100, 100], microbatches: 12, noise: 0.1 });
  for (let i = 0; i < 4; i++) swarm.join(i % 2 === 0 ? 0.1 : 1); // the slow ones on stage 0
  for (let round = 0; round < 4; round++) swarm.round();
  const fast = swarm.miners.filter((node) => swarm.stageOf(node) === 1);
  assertEquals(fast.length, 2);
  swarm.leave(fast[0]!);
  assertEquals(swarm.stageOf(swarm.join(1)), 1);
});

/** Random swarms: speeds, costs and noise are drawn; members come and go for half of the time, then none does. */
slowTest("Rebalance: over random swarms no stage starves, nobody goes to and fro, and moves come to an end", () => {
  const swarms = isWhole ? 24 : 4;
  let moves = 0;
  for (let seed = 1; seed <= swarms; seed++) {
    const { below } = new PacedSwarm({ seed, stageCosts: [1], microbatches: 1, noise: 0 });
    const stages = 2 + below(3);
    const stageCosts = Array.from({ length: stages }, () => 50 + below(150));
    const swarm = new PacedSwarm({ seed, stageCosts, microbatches: 10, noise: 0.1 + below(4) / 10 });
    const draw = () => swarm.join([0.5, 1, 1, 1, 2][swarm.below(5)]!);
    for (let i = 0; i < 2 * stages + below(6); i++) draw();
    for (let round = 0; round < 30; round++) {
      const dice = swarm.below(6);
      if (dice === 0) draw();
      if (dice === 1 && swarm.miners.length > stages) swarm.leave(swarm.miners[swarm.below(swarm.miners.length)]!);
      swarm.round();
      const fewest = Math.min(...swarm.replicas);
      const most = Math.max(...swarm.replicas);
      assert(fewest >= 2 || most <= 2, `seed ${seed}, round ${round}: ${swarm.replicas}`);
    }
    const atRest = swarm.moves.length;
    const beforeMs = swarm.slowestStageMs;
    for (let round = 0; round < 30; round++) swarm.round();
    const late = swarm.moves.slice(atRest);
    assertLess(late.length, 4, `seed ${seed}: ${late.length} moves in 30 quiet rounds`);
    const nodes = late.map(({ node }) => node);
    assertEquals(new Set(nodes).size, nodes.length, `seed ${seed}: nobody moves twice`);
    assert(swarm.slowestStageMs <= beforeMs * 1.05, `seed ${seed}: moves must not make the run slower`);
    moves += swarm.moves.length;
  }
  assertGreater(moves, swarms, "there was something to do");
});
