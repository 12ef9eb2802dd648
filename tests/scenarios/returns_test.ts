/** A member that keeps coming back, to hand its tasks back or to restart its deadlines, does not stop a step. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { taskOutput } from "../../core/model/stage_wires.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

/** Two stages of two replicas; the first of the second stage is the one that comes back. */
function training() {
  const hub = new ScriptedOrchestrator({
    swarm: { replicas: 2, gatherMs: 1_000, validators: 0 },
    train: { microbatchesPerStep: 4, steps: 20, stepsPerRound: 20 },
    limits: { leaseMs: 60_000, mergePhaseMs: 60_000 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const tails = nodes.filter((node) => hub.state.members.get(node)!.stage === 1);
  return { hub, nodes, tails };
}

/** A new session of a member that holds all that is credited to it. */
function joinsAnew(hub: ScriptedOrchestrator, node: NodeId): void {
  const { assignment, header, stepTasks } = hub.state.members.get(node)!;
  hub.inbox(node).length = 0;
  const holding = { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [...stepTasks] };
  hub.tell(node, { type: "join", role: "miner", adapter: "test", previousStage: null, listens: null, holding });
}

for (
  const [how, comesBack] of [
    ["a new session", joinsAnew],
    ["a new link", (hub: ScriptedOrchestrator, node: NodeId) => {
      hub.step({ type: "nodeDisconnected", node });
      hub.wait(50);
      hub.step({ type: "nodeConnected", node, role: "miner", resumed: true });
    }],
  ] as const
) {
  Deno.test(`Returns: ${how} in place of a commitment, again and again, does not hold the step`, () => {
    const { hub, nodes, tails: [flapper] } = training();
    let returns = 0;
    while (hub.state.step === 0 && returns < 200) {
      hub.work(nodes);
      for (const node of nodes) if (node !== flapper) { while (hub.maySeal(node)) hub.seal(node); }
      if (hub.state.step > 0) break;
      comesBack(hub, flapper!);
      returns += 1;
      hub.wait(400);
    }
    assertEquals(hub.state.step, 1, `after ${returns} returns`);
  });
}

Deno.test("Returns: coming back without its gradients once a step, step after step, costs the place in a few", () => {
  const { hub, nodes, tails: [flapper] } = training();
  const comesBackEmpty = () => {
    const { assignment, header } = hub.state.members.get(flapper!)!;
    hub.inbox(flapper!).length = 0;
    const holding = { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [] };
    hub.tell(flapper!, { type: "join", role: "miner", adapter: "test", previousStage: null, listens: null, holding });
  };
  const isHere = () => hub.state.members.get(flapper!)!.stage !== null;
  let steps = 0;
  for (; isHere() && steps < 15; steps++) {
    hub.work(nodes);
    comesBackEmpty();
    while (hub.state.step === steps) {
      hub.work(nodes);
      for (const node of nodes) while (hub.maySeal(node)) hub.seal(node);
    }
  }
  assertEquals([steps, isHere()], [8, false], "in a round of 20 steps six times are free, the next two withhold");
});

Deno.test("Returns: restarts of the orchestrator are nobody's fault, however many there are in a step", () => {
  const { hub, nodes, tails: [honest] } = training();
  for (let restart = 0; restart < 8; restart++) {
    hub.step({ type: "restarted" });
    for (const node of nodes) {
      hub.step({ type: "nodeConnected", node, role: "miner", resumed: false });
      joinsAnew(hub, node);
    }
    assertEquals(hub.state.work?.returns.get(honest!), 1);
  }
  assertEquals(hub.state.standings.size, 0);
  hub.work(nodes);
  for (const node of nodes) while (hub.maySeal(node)) hub.seal(node);
  assertEquals(hub.state.step, 1);
});

Deno.test("Returns: a new session in place of every result hands the tasks to others, and the step closes", () => {
  const { hub, nodes, tails: [quitter] } = training();
  let returns = 0;
  while (hub.state.step === 0 && returns < 200) {
    hub.work(nodes.filter((node) => node !== quitter));
    for (const node of nodes) while (hub.maySeal(node)) hub.seal(node);
    if (hub.state.step > 0 || hub.tasksOf(quitter!).length === 0) continue;
    hub.nowMs += 400;
    joinsAnew(hub, quitter!);
    returns += 1;
  }
  assertEquals(hub.state.step, 1, `after ${returns} returns`);
  assert(returns < 20, `${returns} returns`);
});

Deno.test("Returns: an item that the other replica doubts does not circle between it and one that comes back", () => {
  const { hub, nodes, tails: [quitter, honest] } = training();
  const doubted = hub.state.work!.flows[1]!.microbatch;
  const losses = new Array<number>(hub.state.config.train.sequencesPerMicrobatch).fill(2);
  const wire = taskOutput(hub.stages[1]!, "turnaround")!;
  const answer = (node: NodeId) => {
    const task = hub.take(node, "runTask");
    const largest = task.microbatch === doubted ? 5_000 : 1;
    const segments = [hub.blob(wireBytes(wire))];
    hub.tell(node, { type: "taskDone", task: task.task, losses, computeMs: 1 }, segments, largest);
  };
  let returns = 0;
  for (let turn = 0; turn < 2_000 && hub.state.step === 0; turn++) {
    hub.nowMs += 50;
    hub.work(nodes.filter((node) => node !== quitter && node !== honest));
    for (const node of nodes) while (hub.maySeal(node)) hub.seal(node);
    if (hub.tasksOf(honest!).length > 0) answer(honest!);
    const [task] = hub.tasksOf(quitter!);
    if (task === undefined) {
      hub.wait(1_000);
    } else if (task.microbatch !== doubted) {
      answer(quitter!);
    } else {
      joinsAnew(hub, quitter!);
      returns += 1;
    }
  }
  assertEquals(hub.state.step, 1, `after ${returns} returns`);
  assertEquals(hub.records.filter((record) => record.type === "blamed" && record.node === honest), []);
});
