/** Wrong numbers, false refusals and floods: the right node is blamed, and no honest one. */

import { assert, assertEquals } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { microbatchId, type NodeId, stageIndex, taskId } from "../../core/ids.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { taskOutput, wiresOfDirection } from "../../core/model/stage_wires.ts";
import { send } from "../../core/orchestrator/event.ts";
import {
  ageStandings,
  blame,
  isSuspect,
  mostStrikes,
  noteRefused,
  roundsRemembered,
} from "../../core/orchestrator/members/blame.ts";
import { noteAsked } from "../../core/orchestrator/members/talk.ts";
import { loadingParts, type NodeMessage } from "../../core/protocol/message.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { prngOf } from "../support/small_prng.ts";

/** Two stages of this many replicas at the start of a step. */
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

/** Answers the node's oldest task with a wire of this largest value, even where no wire belongs. */
function answer(hub: ScriptedOrchestrator, node: NodeId, largest: number, rms = largest): void {
  const task = hub.take(node, "runTask");
  const [wire] = wiresOfDirection(hub.state.config, task.direction === "forward" ? "forward" : "gradient");
  const { sequencesPerMicrobatch } = hub.state.config.train;
  const losses = task.direction === "turnaround" ? new Array<number>(sequencesPerMicrobatch).fill(2) : null;
  const segments = [hub.blob(wireBytes(wire!))];
  hub.tell(node, { type: "taskDone", task: task.task, losses, computeMs: 1 }, segments, largest, rms);
}

Deno.test("Blame: a wire with a huge value goes nowhere, another replica does the task and its sender is blamed", () => {
  const { hub, nodes, heads: [liar, honest] } = training(2);
  answer(hub, liar!, 1e30);
  assertEquals([hub.state.work!.flows.filter((flow) => flow.wires[0] !== null).length, blamed(hub)], [0, []]);
  hub.work(nodes.filter((node) => node !== liar), { until: () => blamed(hub).length > 0 });
  assertEquals([blamed(hub), hub.state.members.has(honest!)], [[liar], true]);
  assertReached(hub.state, "refusal: proven wrong");
});

for (const [name, largest] of [["NaN", Infinity], ["a huge value", 1e30]] as const) {
  Deno.test(`Blame: a wire with ${name} goes nowhere, another replica does the task and its sender is blamed`, () => {
    const { hub, nodes, heads: [liar, honest] } = training(2);
    answer(hub, liar!, largest);
    assertEquals([hub.state.work!.flows.filter((flow) => flow.wires[0] !== null).length, blamed(hub)], [0, []]);
    hub.work(nodes.filter((node) => node !== liar), { until: () => blamed(hub).length > 0 });
    assertEquals([blamed(hub), hub.state.members.has(honest!)], [[liar], true]);
  });
}

Deno.test("Blame: a wire of zeros but for one ordinary value goes nowhere, but may be honest, so nobody is blamed", () => {
  const { hub, nodes, heads: [liar, honest] } = training(2);
  const seen = () => hub.state.scales.stages[0]!.wires.forward.map(({ node }) => node);
  hub.work([liar!, honest!], { until: () => seen().length >= 4 && new Set(seen()).size === 2 });
  assert(hub.tasksOf(liar!).length > 0, "it has a task left");
  answer(hub, liar!, 1, 1 / 60);
  assertEquals(seen().length, 4, "its wire is not taken");
  hub.work(nodes.filter((node) => node !== liar));
  assertEquals(blamed(hub), []);
  assertReached(hub.state, "refusal: may be honest, nobody is blamed");
});

Deno.test("Blame: a loss beyond any guess is its sender's fault once another replica has found another one", () => {
  const { hub, nodes, heads, tails: [liar] } = training(2);
  hub.work(heads, { until: () => hub.tasksOf(liar!).length > 0 });
  const { task } = hub.take(liar!, "runTask");
  const losses = new Array<number>(hub.state.config.train.sequencesPerMicrobatch).fill(5_000);
  const wire = taskOutput(hub.stages[1]!, "turnaround")!;
  hub.tell(liar!, { type: "taskDone", task, losses, computeMs: 1 }, [hub.blob(wireBytes(wire!))]);
  hub.work(nodes.filter((node) => node !== liar));
  assertEquals(blamed(hub), [liar]);
});

Deno.test("Blame: the first wires of a quick liar are not a measure for the slower replica's", () => {
  const { hub, nodes, heads: [liar, honest] } = training(2);
  const seen = () => hub.state.scales.stages[0]!.wires.forward.map(({ node }) => node);
  while (hub.tasksOf(liar!).length > 0) answer(hub, liar!, 1e-5);
  assert(seen().length >= 4 && seen().every((node) => node === liar), "only the liar has spoken");
  answer(hub, honest!, 1);
  assert(seen().includes(honest!), "its wire is taken");
  hub.work(nodes);
  assertEquals(blamed(hub).filter((node) => node === honest), []);
});

Deno.test("Blame: three proven faults ban, with the units of the round", () => {
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

Deno.test("Blame: proven faults are forgotten after some rounds without one, whatever else is noted of their node", () => {
  const { hub: { state }, heads: [node] } = training(2);
  const wrong = fault("badNumbers", "a device that fails once in a while");
  for (let i = 0; i < 3 * mostStrikes; i++) {
    blame(state, { node: node!, fault: wrong });
    assertEquals(isSuspect(state, { node: node!, since: state.round }), true);
    for (let round = 0; round <= roundsRemembered; round++) {
      state.round += 1;
      noteRefused(state, { node: node!, isLate: true });
      ageStandings(state);
      assertEquals(isSuspect(state, { node: node!, since: state.round }), false);
    }
  }
  assertEquals(state.expelled.has(node!), false);
  for (let i = 0; i < mostStrikes; i++) blame(state, { node: node!, fault: wrong });
  assertEquals(state.expelled.has(node!), true);
});

Deno.test("Blame: a large value that every replica of a stage makes is the stage's, and nobody is blamed for it", () => {
  const { hub, heads } = training(2);
  const first = hub.tasksOf(heads[0]!)[0]!.microbatch;
  const wireOf = () => hub.state.work!.flows[first]!.wires[0];
  for (let i = 0; i < 8 && wireOf() === null; i++) {
    for (const node of heads) if (hub.tasksOf(node).length > 0) answer(hub, node, 1e6);
  }
  assertEquals([wireOf() === null, blamed(hub)], [false, []]);
  assertReached(hub.state, "refusal: taken, as all replicas doubt it");
});

Deno.test("Blame: replicas that all find the same values large do not send their items round for ever", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const below = prngOf(seed);
    const hub = new ScriptedOrchestrator({
      pipeline: { stages: 3 },
      train: { microbatchesPerStep: 3, steps: 100, stepsPerRound: 2 },
      swarm: { replicas: 3, validators: 0 },
      limits: { leaseMs: 60_000, leasesPerMiner: 1 },
    });
    const nodes = Array.from({ length: 9 }, (_, i) => hub.ready(`miner-${i}`));
    const middle = nodes.filter((node) => hub.state.members.get(node)!.stage === 1);
    const backwards = () => hub.state.work!.flows.filter(({ items }) => items[3]!.status === "done").length;
    const isBackward = (node: NodeId) => middle.includes(node) && hub.tasksOf(node)[0]?.direction === "backward";
    const ordinary = () => nodes.filter((node) => !isBackward(node));
    let answers = 0;
    const isLockStep = below(2) === 0; // all holders of an item answer at once, always in the same order
    const order = middle.toSorted(() => below(2) - 0.5);
    while (backwards() < 3 && answers < 60) {
      hub.work(ordinary(), { until: () => isLockStep ? middle.every(isBackward) : middle.some(isBackward) });
      const holders = order.filter(isBackward);
      for (const node of isLockStep ? holders : [holders[below(holders.length)]!]) answer(hub, node, 1e6);
      answers += 1;
    }
    assertEquals([backwards(), blamed(hub)], [3, []], `seed ${seed}: after ${answers} answers`);
  }
});

Deno.test("Blame: a result that another replica confirms is nobody's fault, wherever the plausible range has moved", () => {
  const { hub, nodes, heads: [first, second] } = training(2);
  const wires = () => hub.state.scales.stages[0]!.wires.forward;
  hub.work([first!, second!], { until: () => wires().length >= 4 && hub.tasksOf(first!).length > 0 });
  const [{ task }] = hub.tasksOf(first!) as [ReturnType<typeof hub.tasksOf>[number]];
  const microbatch = Number(task.split(".")[0]);
  answer(hub, first!, 1e-3, 1e-3);
  for (const wire of wires()) Object.assign(wire, { scale: { largest: 1e-3, rms: 1e-3 } }); // what came in since
  while (!hub.tasksOf(second!).some((each) => Number(each.task.split(".")[0]) === microbatch)) {
    hub.finish(second!, hub.take(second!, "runTask"));
  }
  while (hub.tasksOf(second!).length > 0) answer(hub, second!, 1.5e-3, 1.2e-3);
  hub.work(nodes.filter((node) => node !== first && node !== second));
  assertEquals([hub.state.work!.flows[microbatch]!.wires[0] === null, blamed(hub)], [false, []]);
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
  assertReached(hub.state, "refusal: all replicas load again");
  assertReached(hub.state, "refusal: training has diverged");
});

Deno.test("Blame: a stage's only replica answers for values that are not finite, as nobody else can try", () => {
  const { hub, heads: [liar] } = training(1);
  for (let i = 0; i < 4 && blamed(hub).length === 0; i++) answer(hub, liar!, Infinity);
  assertEquals(blamed(hub), [liar]);
  assertReached(hub.state, "refusal: the only replica is blamed");
});

Deno.test("Blame: a flood of messages that must be refused is answered for a while, then ends the membership", () => {
  const { hub, heads: [liar] } = training(2);
  const stale = { type: "ready", assignment: 0, parameters: hub.blob(64) } as const;
  for (let i = 0; i < 3000; i++) hub.tell(liar!, { type: "payloadCommitted", round: 77, slices: [stale.parameters] });
  const answers = hub.inbox(liar!).filter(({ type }) => type === "reject").length;
  assertEquals([answers, hub.count("faultSeen"), hub.state.expelled.has(liar!)], [64, 64, true]);
});

Deno.test("Blame: a flood of messages that change nothing ends the membership, whatever they are", () => {
  const floods: readonly ((i: number) => NodeMessage)[] = [
    (i) => ({
      type: "taskFailed",
      task: taskId({ microbatch: microbatchId(i), stage: stageIndex(0), direction: "forward", attempt: 9 }),
      fault: fault("badBlob", "no"),
    }),
    (i) => ({ type: "stepSealed", step: 0, request: 1e6 + i, tasks: 0, gradientSquareSum: 0, root: "", signature: "" }),
    () => ({ type: "loading", assignment: 0, part: "making", percent: 1 }),
  ];
  for (const message of floods) {
    const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 } });
    const noisy = hub.ready("noisy");
    const { type } = message(0);
    let said = 0;
    while (said < 10_000 && !hub.state.expelled.has(noisy)) hub.tell(noisy, message(said++));
    assert(hub.state.expelled.has(noisy), `${type}: ${said} messages`);
    assert(said < 4_000, `${type}: banned after ${said}`);
    assert(hub.count("faultSeen") <= 64, `${type}: ${hub.count("faultSeen")} records`);
  }
});

Deno.test("Blame: whoever is asked much may answer all of it", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 } });
  const node = hub.ready("diligent");
  for (let i = 0; i < 3_000; i++) {
    noteAsked(hub.state, [send(node, { type: "cancelTasks", tasks: [] })]);
    hub.tell(node, { type: "loading", assignment: 0, part: "making", percent: 1 });
  }
  assertEquals([hub.state.expelled.has(node), hub.count("faultSeen")], [false, 0]);
});

Deno.test("Blame: whoever loads its stage again and again, percent by percent, may say all of it", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 } });
  const node = hub.join("unlucky");
  for (let again = 0; again < 20; again++) {
    const { assignment } = hub.take(node, "assign");
    for (const part of loadingParts) {
      for (let percent = 0; percent <= 100; percent++) hub.tell(node, { type: "loading", assignment, part, percent });
    }
    hub.join("unlucky");
  }
  hub.load(node);
  assertEquals([hub.count("faultSeen"), hub.state.members.get(node)?.status], [0, "active"]);
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
