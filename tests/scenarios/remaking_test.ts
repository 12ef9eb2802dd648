/** Unusable results from an ordinary-looking input: others recompute it, and the wrong node is found. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import type { HubMessage } from "../../core/protocol/message.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { taskOutput } from "../../core/model/stage_wires.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

type Task = Extract<HubMessage, { type: "runTask" }>;

/** An item's result: an ordinary wire unless stated otherwise. */
type Largest = (options: { node: NodeId; task: Task; hub: ScriptedOrchestrator }) => number;

/** Three stages of this many replicas, some of which have left; `nodes[stage]` are those still present. */
function training(replicas: readonly [number, number, number]) {
  const most = Math.max(...replicas);
  const hub = new ScriptedOrchestrator({
    pipeline: { stages: 3 },
    train: { microbatchesPerStep: 6, steps: 100, stepsPerRound: 50 },
    swarm: { replicas: most, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 1, disconnectGraceMs: 30_000 },
  });
  const names = Array.from({ length: 3 * most }, (_, i) => hub.join(`miner-${i}`));
  const nodes: [NodeId[], NodeId[], NodeId[]] = [[], [], []];
  for (const node of names) nodes[hub.state.members.get(node)!.stage!]!.push(node);
  for (const node of names) hub.load(node);
  for (const [stage, ofStage] of nodes.entries()) {
    for (const node of ofStage.splice(replicas[stage]!)) hub.tell(node, { type: "leaving", reason: "bye" });
  }
  return { hub, nodes };
}

/** Every node computes and commits until the step has closed, or nothing more happens. */
function run(
  hub: ScriptedOrchestrator,
  options: { largest: Largest; most?: number; isIdle?: (node: NodeId) => boolean },
) {
  const { largest, most = 3_000, isIdle = () => false } = options;
  const { step } = hub.state;
  let tasks = 0;
  for (let turn = 0; turn < most && hub.state.step === step && hub.state.phase === "training"; turn++) {
    let isBusy = false;
    for (const node of [...hub.state.members.keys()]) {
      if (isIdle(node)) continue;
      if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
      while (hub.maySeal(node)) hub.seal(node);
      const [task] = hub.tasksOf(node);
      if (task === undefined) continue;
      isBusy = true;
      tasks += 1;
      hub.nowMs += 20;
      hub.take(node, "runTask");
      answer(hub, { node, task, largest: largest({ node, task, hub }) });
    }
    if (!isBusy) hub.wait(500);
  }
  return tasks;
}

function answer(
  hub: ScriptedOrchestrator,
  { node, task, largest }: { node: NodeId; task: Task; largest: number },
): void {
  const spec = hub.stages[task.stage]!;
  const wire = taskOutput(spec, task.direction);
  const losses = task.direction === "turnaround"
    ? new Array<number>(hub.state.config.train.sequencesPerMicrobatch).fill(2)
    : null;
  const segments = wire === null ? [] : [hub.blob(wireBytes(wire))];
  hub.tell(node, { type: "taskDone", task: task.task, losses, computeMs: 1 }, segments, largest);
}

const blamed = (hub: ScriptedOrchestrator): Set<NodeId> =>
  new Set(hub.records.flatMap((record) => record.type === "blamed" ? [record.node] : []));

const makerOf = (hub: ScriptedOrchestrator, { task, stage }: { task: Task; stage: number }): NodeId | null =>
  hub.state.work!.flows.find(({ microbatch }) => microbatch === task.microbatch)!.items[stage]!.madeBy?.node ?? null;

/** Wires of these heads are far from all others, and stage 1 makes this gradient from them. */
function badHeads(hub: ScriptedOrchestrator, options: { liars: readonly NodeId[]; gradient: number }): Largest {
  const bad = new Set<string>();
  hub.apart = (first, last) => bad.has(first.hash) === bad.has(last.hash) ? 0.01 : 1;
  return ({ task }) => {
    for (const flow of hub.state.work!.flows) {
      const maker = flow.items[0]!.madeBy?.node;
      if (maker !== undefined && options.liars.includes(maker) && flow.wires[0]) bad.add(flow.wires[0].hash);
    }
    const isBad = task.stage === 1 && task.direction === "backward" &&
      options.liars.includes(makerOf(hub, { task, stage: 0 })!);
    return isBad ? options.gradient : 1;
  };
}

for (const [name, gradient] of [["not finite", Infinity], ["of 1e11", 1e11]] as const) {
  Deno.test(`Recomputing: gradients that are ${name} for every replica are the input's fault, and its maker's`, () => {
    const { hub, nodes } = training([3, 3, 3]);
    const [liar] = nodes[0] as [NodeId];
    run(hub, { largest: badHeads(hub, { liars: [liar], gradient }) });
    assertEquals([hub.state.step, [...blamed(hub)]], [1, [liar]]);
    const [record] = hub.records.flatMap((each) => each.type === "blamed" ? [each] : []);
    assert(record!.detail.includes("a row differs by 1.00 of its size"), record!.detail);
  });
}

Deno.test("Recomputing: an accomplice who makes something small of a bad input gets nobody honest blamed", () => {
  for (const liars of [1, 2]) {
    const { hub, nodes } = training([3, 3, 3]);
    const accomplice = nodes[1][0]!;
    const honestly = badHeads(hub, { liars: nodes[0].slice(0, liars), gradient: 1e11 });
    const tasks = run(hub, { largest: (options) => options.node === accomplice ? 1 : honestly(options) });
    const honest = [...nodes[0].slice(liars), ...nodes[1].slice(1), ...nodes[2]];
    assertEquals([hub.state.step, honest.filter((node) => blamed(hub).has(node))], [1, []], `${liars} heads`);
    assert(tasks < 6 * 5 * 6, `${tasks} tasks`);
  }
});

Deno.test("Recomputing: replicas that always fail where a third does not are blamed, once others have made the same input", () => {
  const { hub, nodes } = training([3, 3, 3]);
  const liars = nodes[1].slice(0, 2);
  const largest: Largest = ({ node, task }) => liars.includes(node) && task.direction === "backward" ? Infinity : 1;
  const tasks = run(hub, { largest });
  assertEquals([hub.state.step, blamed(hub)], [1, new Set(liars)]);
  assert(tasks < 6 * 5 * 8, `${tasks} tasks`);
});

Deno.test("Recomputing: who fails an input and computes with an equal one has said two things, and is blamed", () => {
  const { hub, nodes } = training([3, 3, 3]);
  const liar = nodes[1][0]!;
  const failed = new Set<number>();
  run(hub, {
    largest: ({ node, task }) => {
      if (node !== liar || task.direction !== "backward" || failed.has(Number(task.microbatch))) return 1;
      failed.add(Number(task.microbatch));
      return Infinity;
    },
  });
  assertEquals([hub.state.step, blamed(hub)], [1, new Set([liar])]);
});

Deno.test("Recomputing: after claims in vain a node has one a round, not three", () => {
  const { hub, nodes } = training([3, 3, 3]);
  const [claimer] = nodes[2] as [NodeId];
  run(hub, { largest: () => 1 }); // in a round's first step it would be blamed
  const remade = () => {
    const before = hub.count("taskReleased");
    const failed = new Set<number>();
    run(hub, {
      largest: ({ node, task }) => {
        if (node !== claimer || failed.has(Number(task.microbatch))) return 1;
        failed.add(Number(task.microbatch));
        return Infinity;
      },
    });
    const released = hub.records.filter(({ type }) => type === "taskReleased").slice(before);
    return released.filter((record) => record.type === "taskReleased" && record.reason.includes("recomputed")).length;
  };
  assertEquals([remade(), hub.state.standings.get(claimer)?.vainRound], [3, 0]);
  hub.state.claims.clear(); // as a new round does
  assertEquals([remade(), blamed(hub).size], [1, 0]);
});

Deno.test("Recomputing: large gradients that all replicas find are taken after a few inputs were made again, and nobody is blamed", () => {
  const { hub } = training([2, 3, 2]);
  const usual = 6 * 5;
  const tasks = run(hub, { largest: ({ task }) => task.stage === 1 && task.direction === "backward" ? 1e5 : 1 });
  assertEquals([hub.state.step, blamed(hub).size], [1, 0]);
  assert(tasks < 3 * usual, `${tasks} tasks`);
});

Deno.test("Recomputing: with one maker before it a stage is loaded again, and nobody is blamed for what an input may have done", () => {
  const { hub, nodes } = training([1, 2, 1]);
  const accomplice = nodes[1][0]!;
  const honestly = badHeads(hub, { liars: nodes[0], gradient: 1e11 });
  run(hub, { largest: (options) => options.node === accomplice ? 1 : honestly(options) });
  assertEquals([hub.state.step, blamed(hub).size], [1, 0]);
  run(hub, { largest: honestly });
  const texts = hub.records.flatMap((record) => record.type === "warning" ? [record.text] : []);
  assert(texts.some((text) => text.includes("no other replica can make its input")), texts.join("\n"));
  assertEquals(blamed(hub).size, 0);
});

Deno.test("Recomputing: two that fail everything do not end the run while the third is away within its grace, or loads", () => {
  for (const how of ["away", "loading"] as const) {
    const { hub, nodes } = training([3, 3, 3]);
    const [first, second, third] = nodes[1] as [NodeId, NodeId, NodeId];
    if (how === "away") hub.step({ type: "nodeDisconnected", node: third });
    else hub.join(third, { previousStage: stageIndex(1) });
    const largest: Largest = ({ node }) => node === first || node === second ? Infinity : 1;
    run(hub, { largest, most: how === "away" ? 50 : 12, isIdle: (node) => node === third });
    assertEquals([hub.state.phase, hub.state.step, hub.state.reloads.size], ["training", 0, 0], how);
    if (how === "away") hub.step({ type: "nodeConnected", node: third, role: "miner", resumed: true });
    run(hub, { largest });
    assertEquals([hub.state.step, blamed(hub)], [1, new Set([first, second])], how);
  }
});

Deno.test("Recomputing: a maker that is lost, and an orchestrator that is started again without its wires, leave the books in order", () => {
  const { hub, nodes } = training([3, 3, 3]);
  const [liar] = nodes[0] as [NodeId];
  const largest = badHeads(hub, { liars: [liar], gradient: 1e11 });
  const isRemade = () => hub.state.work!.flows.some(({ past }) => past.length > 0);
  for (let i = 0; i < 200 && !isRemade(); i++) run(hub, { largest, most: 1 });
  assert(isRemade());
  const lost = hub.state.work!.flows.flatMap(({ wires, past }) => [...wires, ...past.flatMap((each) => each.wires)])
    .filter((ref) => ref !== null);
  hub.step({ type: "restarted", lost });
  for (const node of [...hub.state.members.keys()]) {
    hub.inbox(node).length = 0;
    hub.step({ type: "nodeConnected", node, role: "miner", resumed: false });
    const { assignment, header, stepTasks } = hub.state.members.get(node)!;
    const holding = { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [...stepTasks] };
    hub.tell(node, { type: "join", role: "miner", adapter: "t", previousStage: null, listens: null, holding });
  }
  hub.tell(nodes[0][2]!, { type: "leaving", reason: "bye" });
  run(hub, { largest });
  assertEquals([hub.state.step, [...blamed(hub)].filter((node) => node !== liar)], [1, []]);
});
