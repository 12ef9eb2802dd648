/** Which miner serves which stage: newcomers go where they are needed, and a miner moves when that helps. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { sendToRest } from "../../core/orchestrator/members/blame.ts";
import { PacedSwarm } from "../support/swarm/paced_swarm.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

function closeRound(hub: ScriptedOrchestrator): void {
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

Deno.test("Rebalance: newcomers go where replicas are missing, then to the stage that costs most", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 } });
  const stages = ["a", "b", "c", "d", "e"].map((name) => hub.load(hub.join(name)));
  assertEquals(hub.state.stages.map(({ layerCount }) => layerCount), [1, 2]);
  assertEquals(stages, [0, 1, 0, 1, 1]);
});

Deno.test("Rebalance: a run that gathers fills every stage to the replicas it wants", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 3, validators: 0 } });
  for (const name of ["a", "b", "c", "d", "e", "f"]) hub.load(hub.join(name));
  assertEquals(hub.state.rosters.map(({ members }) => members.length), [3, 3]);
  assertEquals(hub.state.phase, "training");
});

Deno.test("Rebalance: a miner moves to the slow stage after a merge, loads it and works there", () => {
  const swarm = new PacedSwarm({ seed: 1, stageCosts: [100, 900], microbatches: 24, noise: 0, replicas: 3 });
  const nodes = Array.from({ length: 6 }, () => swarm.join(1));
  for (let round = 0; round < 20 && swarm.moves.length === 0; round++) swarm.round();
  const [first] = swarm.moves;
  assertEquals([first?.from, first?.to].map(Number), [0, 1]);
  assertEquals(swarm.replicas, [2, 4]);
  assertEquals(nodes.filter((node) => swarm.stageOf(node) === 1).length, 4);
  swarm.round();
  assertEquals(swarm.hub.state.members.get(first!.node)!.results > 0, true);
});

Deno.test("Rebalance: a stage that lost everybody gets a miner at once, whose work is done again", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 4, steps: 100, stepsPerRound: 50 },
    swarm: { replicas: 1, validators: 0 },
    limits: { disconnectGraceMs: 5_000 },
  });
  const [head, tail, spare] = ["head", "tail", "spare"].map((name) => hub.ready(name)) as [NodeId, NodeId, NodeId];
  assertEquals([head, tail, spare].map((node) => hub.state.members.get(node)!.stage as number), [0, 1, 0]);
  hub.step({ type: "nodeDisconnected", node: tail });
  hub.wait(6_000);
  const moves = hub.records.filter((record) => record.type === "nodeMoved");
  assertEquals(moves.map(({ to }) => to as number), [1]);
  const mover = moves[0]!.node;
  hub.load(mover);
  const stays = mover === head ? spare : head;
  for (const node of [mover, stays]) {
    hub.inbox(node).splice(
      0,
      99,
      ...hub.tasksOf(node).filter((task) => isOpen(hub, task)),
    );
  }
  hub.work([mover, stays]);
  closeRound(hub);
  assertEquals([hub.state.step, hub.state.counters.microbatchesCredited], [1, 4]);
});

const isOpen = (hub: ScriptedOrchestrator, { task }: { task: string }): boolean =>
  [...hub.state.work!.leased.keys()].some((open) => open === task);

Deno.test("Rebalance: a newcomer hears which replicas of its stage can be asked, by address and hotkey", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound: 2 },
    swarm: { replicas: 1, validators: 0 },
  });
  const urls = ["http://203.0.113.7:9010", "http://203.0.113.8:9010"];
  const served = urls.map((url, index) => {
    const node = hub.join(`miner-${index}`, { listens: url });
    return { node, url, stage: hub.load(node) };
  });
  const { stage, peers } = hub.take(hub.join("newcomer"), "assign");
  assertEquals(
    peers,
    served.filter((each) => each.stage === stage).map(({ node, url }) => ({ node, url, pass: null })),
  );
  assertEquals(peers.length, 1);
});

Deno.test("Rebalance: a stage whose only miner is suspended is served again without waiting for another event", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 4, steps: 100, stepsPerRound: 50 },
    swarm: { replicas: 1, validators: 0 },
  });
  const [, tail] = ["head", "tail"].map((name) => hub.ready(name)) as [NodeId, NodeId];
  hub.inbox(tail).length = 0;
  sendToRest(hub.state, tail);
  hub.step({ type: "tick" });
  assertEquals(hub.state.rosters.map(({ assigned }) => assigned), [1, 1]);
  assertEquals(hub.load(tail) as number, 1, "a suspended miner is better than none");
});
