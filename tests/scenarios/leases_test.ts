/** Leases, step by step: who gets a task, what a straggler, a late result and a lost node change. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { noteWithheld } from "../../core/orchestrator/members/blame.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

function swarm(replicas: number, microbatchesPerStep: number): { hub: ScriptedOrchestrator; nodes: NodeId[] } {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep, steps: 100, stepsPerRound: 50 },
    swarm: { replicas, validators: 0 },
    limits: { leaseMs: 60_000, leasesPerMiner: 2 },
  });
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  return { hub, nodes };
}

const ofStage = (hub: ScriptedOrchestrator, stage: number): NodeId[] =>
  hub.state.rosters[stage]!.members.map((member) => member.node);

function closeStep(hub: ScriptedOrchestrator): void {
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

Deno.test("Leases: every replica gets a task before any gets a second, and a step closes when all have committed", () => {
  const { hub, nodes } = swarm(2, 4);
  assertEquals(ofStage(hub, 0).map((node) => hub.tasksOf(node).length), [2, 2]);
  hub.work(nodes);
  assertEquals([hub.state.work?.left, hub.state.work?.left === 0], [0, true]);
  closeStep(hub);
  assertEquals([hub.state.step, hub.count("stepClosed"), hub.state.counters.microbatchesCredited], [1, 1, 4]);
});

Deno.test("Leases: while several commitments are pending and nobody is heard, the orchestrator waits once more and blames nobody", () => {
  const { hub, nodes } = swarm(3, 6);
  const tail = ofStage(hub, 1);
  hub.work(nodes, { until: () => hub.state.work!.asked.size === tail.length });
  const blamed = () => tail.filter((node) => (hub.state.standings.get(node)?.withheld.confirming ?? 0) > 0);
  hub.wait(9_000); // its own line was down
  assertEquals([blamed(), hub.count("taskReleased")], [[], 0]);
  hub.work(nodes);
  for (const node of nodes) if (node !== tail[0]) hub.seal(node);
  hub.wait(2_000);
  assertEquals(blamed(), [tail[0]], "nobody is waited for twice");
});

Deno.test("Leases: a commitment that is repeated, with another norm, counts once and makes up for nothing more", () => {
  const { hub, nodes } = swarm(2, 4);
  hub.work(nodes);
  const [first, second] = ofStage(hub, 1) as [NodeId, NodeId];
  noteWithheld(hub.state, { node: first, duty: "confirming" });
  const { step, request, tasks } = hub.take(first, "sealStep");
  for (const gradientSquareSum of [1, 2, 3, 4, 5]) {
    hub.tell(first, { type: "stepSealed", step, request, tasks: tasks.length, gradientSquareSum });
  }
  assertEquals(hub.state.work?.sealed.get(first)?.squareSum, 1);
  assertEquals(hub.state.standings.get(first)?.withheld.confirming, 1 - 1 / 4);
  hub.seal(second);
});

Deno.test("Leases: the tasks of a miner lost after its commitment stay counted, unless its stage has nobody else", () => {
  const { hub, nodes } = swarm(2, 4);
  hub.work(nodes);
  const [first, second] = ofStage(hub, 1) as [NodeId, NodeId];
  const tasks = hub.seal(first).length;
  hub.tell(first, { type: "leaving", reason: "its owner said so" });
  const lost = hub.records.flatMap((record) => record.type === "nodeLost" ? [record] : []);
  assertEquals(lost.map(({ tasksReissued, tasksKept }) => [tasksReissued, tasksKept]), [[0, tasks]]);
  hub.seal(second);
  hub.tell(second, { type: "leaving", reason: "its owner said so" });
  assertEquals([hub.state.work!.departed.length, hub.count("stepClosed")], [1, 0]);
  assert(hub.state.work!.left >= 4 - tasks, "what the stage's last contributor had is done again");
});

Deno.test("Leases: a stage commits as soon as nothing more is to come, while the stages before it still work", () => {
  const { hub, nodes } = swarm(2, 4);
  const tail = ofStage(hub, 1);
  hub.work(nodes, { until: () => hub.state.work!.waiting[1] === 0 && tail.every((node) => !hub.tasksOf(node).length) });
  assert(hub.state.work!.left > 0, "gradients of the head are still missing");
  for (const node of tail) hub.seal(node);
  hub.work(nodes);
  for (const node of ofStage(hub, 0)) hub.seal(node);
  assertEquals([hub.state.step, hub.state.counters.reLeases], [1, 0]);
});

Deno.test("Leases: the tasks of a miner that does not commit are done by others; it stays, and its gradient is dropped", () => {
  const { hub, nodes } = swarm(2, 4);
  hub.work(nodes);
  const [stuck, other] = ofStage(hub, 1) as [NodeId, NodeId];
  const others = nodes.filter((node) => node !== stuck);
  for (const node of others) hub.seal(node);
  const { request, tasks: { length: tasks } } = hub.take(stuck, "sealStep");
  hub.wait(30_000);
  assertEquals([hub.count("nodeLost"), hub.state.counters.reLeases, hub.tasksOf(other).length], [0, tasks, tasks]);
  hub.work(others);
  hub.tell(stuck, { type: "stepSealed", step: 0, request, tasks, gradientSquareSum: 1 });
  hub.seal(other);
  assertEquals([hub.state.step, hub.take(stuck, "applyStep").tasks], [1, 0]);
});

Deno.test("Leases: a replica twice as fast gets about twice the tasks", () => {
  const { hub, nodes } = swarm(2, 24);
  const [fast, slow] = ofStage(hub, 0);
  const busyUntil = new Map<NodeId, number>();
  const done = new Map<NodeId, number>();
  for (let turn = 0; turn < 4000 && hub.state.step < 3; turn++) {
    hub.nowMs += 50;
    for (const node of nodes) {
      if ((busyUntil.get(node) ?? 0) > hub.nowMs || hub.tasksOf(node).length === 0) continue;
      hub.finish(node, hub.take(node, "runTask"));
      done.set(node, (done.get(node) ?? 0) + 1);
      busyUntil.set(node, hub.nowMs + (node === slow ? 400 : 200));
    }
    if (hub.state.work?.left === 0) closeStep(hub);
  }
  const ratio = done.get(fast!)! / done.get(slow!)!;
  assert(ratio > 1.6 && ratio < 2.4, `${ratio}`);
});

Deno.test("Leases: how long a silent replica is waited for follows from how long its stage's answers take", () => {
  for (const [tripMs, patienceMs] of [[0, 100], [30, 300], [400, 1000]] as const) {
    const { hub, nodes } = swarm(2, 2);
    for (const head of ofStage(hub, 0)) {
      const task = hub.take(head, "runTask");
      hub.nowMs += tripMs;
      hub.finish(head, task);
    }
    hub.work(nodes, { taskMs: 0 });
    closeStep(hub);
    const [straggler] = ofStage(hub, 0) as [NodeId];
    hub.take(straggler, "runTask");
    hub.work(nodes.filter((node) => node !== straggler), { taskMs: 0 });
    hub.wait(patienceMs - 1);
    assertEquals(hub.state.counters.speculations, 0, `${tripMs} ms`);
    hub.wait(1);
    assertEquals(hub.state.counters.speculations, 1, `${tripMs} ms`);
  }
});

Deno.test("Leases: after its deadline a task goes to somebody else although nobody is idle before", () => {
  const { hub, nodes } = swarm(1, 2);
  const [head, tail] = nodes as [NodeId, NodeId];
  const held = hub.take(head, "runTask");
  hub.wait(61_000);
  const released = hub.records.flatMap((record) => record.type === "taskReleased" ? [record.task] : []);
  const cancelled = [hub.take(head, "cancelTasks"), hub.take(head, "cancelTasks")].flatMap((message) => message.tasks);
  assertEquals([released.length, released.includes(held.task), cancelled], [2, true, released]);
  const inbox = hub.inbox(head);
  inbox.splice(0, inbox.length, ...hub.tasksOf(head).filter((task) => !released.includes(task.task)));
  hub.work([head, tail]);
  closeStep(hub);
  assertEquals([hub.state.step, hub.state.counters.reLeases], [1, 2]);
});
