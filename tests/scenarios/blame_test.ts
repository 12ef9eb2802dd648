/** Wrong numbers, false refusals and floods: who is blamed for what, and that nobody honest is. */

import { assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import type { NodeId } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/scripted_orchestrator.ts";

/** Two stages of so many replicas at the beginning of a step. */
function training(replicas: number) {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 8, steps: 100, stepsPerRound: 2 },
    swarm: { replicas, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 2 },
  });
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  const heads = nodes.filter((node) => hub.state.members.get(node)!.stage === 0);
  return { hub, nodes, heads, tails: nodes.filter((node) => !heads.includes(node)) };
}

const blamed = (hub: ScriptedOrchestrator): NodeId[] =>
  hub.records.flatMap((record) => record.type === "blamed" ? [record.node] : []);

/** Answers the node's oldest task with a wire whose largest value is this. */
function answer(hub: ScriptedOrchestrator, node: NodeId, largest: number): void {
  const task = hub.take(node, "runTask");
  const wire = hub.stages[task.stage]!.wireOut ?? hub.stages[task.stage]!.wireIn!;
  const { sequencesPerMicrobatch } = hub.state.config.train;
  const losses = task.direction === "turnaround" ? new Array<number>(sequencesPerMicrobatch).fill(2) : null;
  const bytes = sequencesPerMicrobatch * hub.state.config.model.contextLength * wire.width * wire.bytesPerValue;
  hub.tell(node, { type: "taskDone", task: task.task, losses, computeMs: 1 }, [hub.blob(bytes)], largest);
}

for (const [name, largest] of [["NaN", Infinity], ["a huge value", 1e30]] as const) {
  Deno.test(`Blame: a wire with ${name} goes nowhere, another replica does the task and its sender is blamed`, () => {
    const { hub, nodes, heads: [liar, honest] } = training(2);
    answer(hub, liar!, largest);
    assertEquals([hub.state.work!.flows.filter((flow) => flow.wires[0] !== null).length, blamed(hub)], [0, []]);
    hub.work(nodes.filter((node) => node !== liar), { until: () => blamed(hub).length > 0 });
    assertEquals([blamed(hub), hub.state.members.has(honest!)], [[liar], true]);
  });
}

Deno.test("Blame: three proven faults expel, with the units of the round", () => {
  const { hub, nodes, heads: [liar] } = training(2);
  const others = nodes.filter((node) => node !== liar);
  for (let i = 0; i < 40 && hub.state.members.has(liar!); i++) {
    if (hub.tasksOf(liar!).length > 0) answer(hub, liar!, Infinity);
    hub.work(others, { until: () => hub.tasksOf(liar!).length > 0 });
  }
  assertEquals([hub.state.expelled.has(liar!), hub.state.members.has(liar!), hub.state.roundUnits.has(liar!)], [
    true,
    false,
    false,
  ]);
  assertEquals(new Set(blamed(hub)), new Set([liar]));
  hub.join("miner-0");
  assertEquals(hub.state.members.has(liar!), false, "it is not let in again");
});

Deno.test("Blame: who refuses an input that the hub has checked is blamed, not the miner that made it", () => {
  const { hub, heads, tails: [liar] } = training(2);
  hub.work(heads, { until: () => hub.tasksOf(liar!).length > 0 });
  const task = hub.take(liar!, "runTask");
  hub.tell(liar!, { type: "taskFailed", task: task.task, fault: fault("badNumbers", "it holds NaN") });
  assertEquals(blamed(hub), [liar]);
});

Deno.test("Blame: a large value that every replica of a stage makes is the stage's, and nobody is blamed for it", () => {
  const { hub, heads } = training(2);
  const first = hub.tasksOf(heads[0]!)[0]!.microbatch;
  const wireOf = () => hub.state.work!.flows[first]!.wires[0];
  for (let i = 0; i < 8 && wireOf() === null; i++) {
    for (const node of heads) if (hub.tasksOf(node).length > 0) answer(hub, node, 1e6);
  }
  assertEquals([wireOf() === null, blamed(hub)], [false, []]);
});

Deno.test("Blame: when no replica of a stage makes finite values they load the round again, and at last the run stops", () => {
  const { hub, heads } = training(2);
  for (let i = 0; i < 200 && hub.state.phase === "training"; i++) {
    for (const node of heads) {
      if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
      else if (hub.tasksOf(node).length > 0) answer(hub, node, Infinity);
    }
  }
  const [end] = hub.records.flatMap((record) => record.type === "runFinished" ? [record] : []);
  assertEquals([end?.finished, end?.reason.includes("diverged"), blamed(hub), hub.state.expelled.size], [
    false,
    true,
    [],
    0,
  ]);
});

Deno.test("Blame: a flood of messages that must be refused is answered for a while, then ends the membership", () => {
  const { hub, heads: [liar] } = training(2);
  const stale = { type: "ready", assignment: 0, parameters: hub.blob(64) } as const;
  for (let i = 0; i < 3000; i++) hub.tell(liar!, { type: "payloadCommitted", round: 77, slices: [stale.parameters] });
  const answers = hub.inbox(liar!).filter(({ type }) => type === "reject").length;
  assertEquals([answers, hub.count("faultSeen"), hub.state.expelled.has(liar!)], [64, 64, true]);
});

Deno.test("Norms: one report of 1e300 moves nobody's step, is recorded, and its work in the step is not paid", () => {
  const { hub, nodes, heads: [liar] } = training(3);
  hub.work(nodes);
  for (const node of nodes) {
    const { step, request, tasks } = hub.take(node, "sealStep");
    const gradientSquareSum = node === liar ? 1e300 : tasks.length ** 2;
    hub.tell(node, { type: "stepSealed", step, request, tasks: tasks.length, gradientSquareSum });
  }
  const { clipFactor } = hub.take(nodes[1]!, "applyStep");
  assertEquals(clipFactor, 1 / Math.SQRT2, "two stages, each of norm 1");
  assertEquals([hub.state.roundUnits.has(liar!), hub.state.members.has(liar!)], [false, true]);
  const faults = hub.records.flatMap((record) => record.type === "faultSeen" ? [record.node] : []);
  assertEquals(faults, [liar!]);
});
