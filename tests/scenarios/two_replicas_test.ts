/** One claim against another: a liar among two replicas must not get the honest one blamed, unpaid or left out. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import { taskOutput } from "../../core/model/stage_wires.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { commit, merging, reduceAll, stageOf } from "../support/swarm/scripted_merge.ts";

const accused = (hub: ScriptedOrchestrator): (NodeId | null)[] =>
  hub.records.flatMap((record) => record.type === "blamed" || record.type === "faultSeen" ? [record.node] : []);

Deno.test("Two replicas: payloads of next to nothing, round after round, get the other one neither left out nor blamed", () => {
  const { hub, nodes } = merging(2);
  const [liar, honest] = nodes;
  const floats = hub.state.stageFloats[0]!;
  hub.statsOf = (node) => {
    const length = node === liar ? 1e-12 : 0.3 * hub.state.roundRates;
    return { isFinite: true, squareSum: floats * length ** 2, largest: length };
  };
  for (let merge = 0; merge < 6; merge++) {
    for (const node of nodes) commit(hub, node);
    assertEquals(
      [stageOf(hub).payloads.has(honest!), hub.state.roundUnits.has(honest!)],
      [true, true],
      `merge ${merge}`,
    );
    finishMerge(hub, nodes);
    hub.work(nodes);
    for (const node of nodes) hub.seal(node);
  }
  assertEquals([hub.count("blamed"), hub.state.expelled.size], [0, 0]);
});

function finishMerge(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  reduceAll(hub, nodes);
  const merged = { parameters: hub.blob(64), momentum: null };
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, ...merged });
  const uploader = hub.state.upload!.stages[0]!.asked as NodeId;
  hub.tell(uploader, { type: "parametersUploaded", round, ...merged });
  hub.step({ type: "checkpointWritten", round, folder: "" });
}

Deno.test("Two replicas: a report of no gradient leaves the other's work paid", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 8, steps: 100, stepsPerRound: 20 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 2 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const liar = nodes.find((node) => hub.state.members.get(node)!.stage === 0)!;
  for (let step = 0; step < 6; step++) {
    hub.work(nodes);
    for (const node of nodes) {
      const { step, request, tasks } = hub.take(node, "sealStep");
      const gradientSquareSum = node === liar ? 0 : tasks.length ** 2;
      hub.tell(node, { type: "stepSealed", step, request, tasks: tasks.length, gradientSquareSum });
    }
  }
  assertEquals(accused(hub).filter((node) => node !== liar), []);
  assertEquals(nodes.every((node) => node === liar || hub.state.roundUnits.has(node)), true);
});

Deno.test("Two of three replicas: who leaves after a bad result does not stand for the one that never tried", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 8, steps: 100, stepsPerRound: 2 },
    swarm: { replicas: 3, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 2 },
  });
  const nodes = Array.from({ length: 6 }, (_, i) => hub.ready(`miner-${i}`));
  const [a, b, c] = nodes.filter((node) => hub.state.members.get(node)!.stage === 0);
  const bad = (node: NodeId) => {
    const { task } = hub.take(node, "runTask");
    const bytes = wireBytes(taskOutput(hub.stages[0]!, "forward")!);
    hub.tell(node, { type: "taskDone", task, losses: null, computeMs: 1 }, [hub.blob(bytes)], Infinity);
  };
  const failed = hub.tasksOf(a!)[0]!.microbatch;
  bad(a!);
  for (let i = 0; i < 8; i++) {
    const own = hub.tasksOf(b!);
    if (own.some(({ microbatch }) => microbatch === failed)) break;
    if (own.length > 0) hub.finish(b!, hub.take(b!, "runTask"));
  }
  hub.tell(a!, { type: "leaving", reason: "bye" });
  while (hub.tasksOf(b!).length > 0 && hub.tasksOf(b!)[0]!.microbatch !== failed) {
    hub.finish(b!, hub.take(b!, "runTask"));
  }
  assertEquals(hub.tasksOf(b!)[0]?.microbatch, failed);
  bad(b!);
  assertEquals([hub.state.reloads.size, hub.state.members.get(c!)?.status], [0, "active"]);
});

Deno.test("Rollback: a task that a second replica tries as well stops nobody from being sent back", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 8, steps: 100, stepsPerRound: 20 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 4 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  hub.work(nodes, { taskMs: 10 });
  for (const node of nodes) hub.seal(node);
  const slow = nodes.find((node) => hub.state.members.get(node)!.stage === 0)!;
  const next = (node: NodeId) => hub.tasksOf(node).find(({ direction }) => node !== slow || direction === "forward");
  for (let isBusy = true; isBusy;) {
    isBusy = false;
    for (const node of nodes) {
      const task = next(node);
      if (task === undefined) continue;
      isBusy = true;
      hub.nowMs += 10;
      hub.inbox(node).splice(hub.inbox(node).indexOf(task), 1);
      hub.finish(node, task);
    }
  }
  hub.wait(20_000);
  assertEquals([...hub.state.work!.leased.values()].some(({ leases }) => leases.length === 2), true);
  hub.state.good = { sources: hub.state.sources, step: 0, loss: 1, isRetaken: false };
  hub.state.retakeBecause = "The held-out loss jumped";
  hub.step({ type: "tick" });
  assertEquals([hub.state.step, hub.count("mergeRetaken")], [0, 1]);
});

Deno.test("Two replicas: a quick liar cannot shrink the plausible range until the other one's wires are refused", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 16, steps: 200, stepsPerRound: 50 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 4 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const [liar, honest] = nodes.filter((node) => hub.state.members.get(node)!.stage === 0);
  let answered = 0;
  const answer = (node: NodeId) => {
    const task = hub.take(node, "runTask");
    const wire = taskOutput(hub.stages[task.stage]!, task.direction);
    const losses = task.direction === "turnaround"
      ? new Array<number>(hub.state.config.train.sequencesPerMicrobatch).fill(2)
      : null;
    const segments = wire === null ? [] : [hub.blob(wireBytes(wire))];
    const largest = node === liar ? Math.max(1e-5, 32 ** -Math.ceil(++answered / 32)) : 1;
    hub.tell(node, { type: "taskDone", task: task.task, losses, computeMs: 1 }, segments, largest);
  };
  for (let turn = 0; turn < 400 && hub.state.step < 6; turn++) {
    hub.nowMs += 5;
    for (let quick = 0; quick < 8 && hub.tasksOf(liar!).length > 0; quick++) answer(liar!);
    for (const node of nodes) if (node !== liar && hub.tasksOf(node).length > 0) answer(node);
    for (const node of nodes) if (hub.maySeal(node)) hub.seal(node);
  }
  assertEquals(accused(hub).filter((node) => node === honest), []);
  assertEquals(hub.state.expelled.has(honest!), false);
});
