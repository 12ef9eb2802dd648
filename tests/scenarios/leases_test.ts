/** Leases, step by step: who gets a task, what a straggler, a late result and a lost node change. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/scripted_orchestrator.ts";

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

Deno.test("Leases: every replica gets a task before any gets a second, and a step closes when all have confirmed", () => {
  const { hub, nodes } = swarm(2, 4);
  assertEquals(ofStage(hub, 0).map((node) => hub.tasksOf(node).length), [2, 2]);
  hub.work(nodes);
  assertEquals([hub.state.work?.left, hub.state.work?.isSealing], [0, true]);
  closeStep(hub);
  assertEquals([hub.state.step, hub.count("stepClosed"), hub.state.counters.microbatchesCredited], [1, 1, 4]);
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
    if (hub.state.work?.isSealing) closeStep(hub);
  }
  const ratio = done.get(fast!)! / done.get(slow!)!;
  assert(ratio > 1.6 && ratio < 2.4, `${ratio}`);
});

Deno.test("Leases: a task that takes too long goes to an idle replica as well; the first result counts, the other is stale", () => {
  const { hub, nodes } = swarm(2, 2);
  hub.work(nodes); // paces are measured
  closeStep(hub);
  const [straggler, other] = ofStage(hub, 0) as [NodeId, NodeId];
  const stuck = hub.take(straggler, "runTask");
  hub.work(nodes.filter((node) => node !== straggler)); // all that can be done without it
  assertEquals(hub.state.counters.speculations, 0);
  hub.wait(5_000);
  assertEquals(hub.state.counters.speculations, 1);
  const second = hub.take(other, "runTask");
  assertEquals([second.microbatch, second.direction, second.task === stuck.task], [stuck.microbatch, "forward", false]);
  hub.finish(other, second);
  assertEquals(hub.take(straggler, "cancelTasks").tasks, [stuck.task]);
  hub.finish(straggler, stuck); // late
  assertEquals(hub.take(straggler, "reject").fault.code, "staleResult");
  hub.work(nodes);
  closeStep(hub);
  assertEquals([hub.state.step, hub.state.counters.microbatchesCredited], [2, 4]);
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

Deno.test("Leases: the credited gradients of a lost miner are made again by others, and only those", () => {
  const { hub, nodes } = swarm(2, 4);
  hub.work(nodes);
  const [victim] = ofStage(hub, 1) as [NodeId];
  const lost = hub.state.members.get(victim)!.stepTasks.length;
  assert(lost > 0 && hub.state.work!.isSealing);
  const others = nodes.filter((node) => node !== victim);
  const before = others.filter((node) => hub.state.work!.contributors.has(node));
  for (const node of before) hub.seal(node);
  hub.step({ type: "nodeDisconnected", node: victim });
  hub.wait(60_000);
  assertEquals([hub.state.work!.left, hub.state.work!.isSealing, hub.count("nodeLost")], [lost, false, 1]);
  hub.work(others);
  const again = before.filter((node) => hub.inbox(node).some((message) => message.type === "sealStep"));
  assertEquals(again, ofStage(hub, 1), "who has nothing new has confirmed already");
  for (const node of again) hub.seal(node);
  assertEquals([hub.state.step, hub.state.counters.microbatchesCredited], [1, 4]);
});
