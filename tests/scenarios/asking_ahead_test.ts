/** The request to commit a gradient goes out with the last tasks of a step; what becomes of it when the plan fails. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { HubMessage } from "../../core/protocol/message.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

/** Two stages of two replicas; steps of four microbatches. */
function swarm(options: { microbatches?: number } = {}) {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: options.microbatches ?? 4, steps: 6, stepsPerRound: 3 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, disconnectGraceMs: 30_000 },
  });
  const sent: { node: NodeId; message: HubMessage }[] = [];
  hub.watch = (_, effects) => {
    for (const effect of effects) if (effect.type === "send") sent.push({ node: effect.to, message: effect.message });
  };
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  return { hub, nodes, sent };
}

const ofStage = (hub: ScriptedOrchestrator, stage: number): NodeId[] =>
  hub.state.rosters[stage]!.members.map((member) => member.node);

const requestOf = (hub: ScriptedOrchestrator, node: NodeId) =>
  hub.inbox(node).find((message) => message.type === "sealStep");

const blamed = (hub: ScriptedOrchestrator) =>
  hub.records.flatMap((record) => record.type === "blamed" ? [[record.node, record.code]] : []);

/** Everybody works until one head has nothing left to compute but this last task, which it has been asked to commit with the rest. */
function untilLastTask(hub: ScriptedOrchestrator, nodes: readonly NodeId[]) {
  const last = () =>
    ofStage(hub, 0).find((node) => hub.tasksOf(node).length === 1 && requestOf(hub, node) !== undefined);
  hub.work(nodes, { until: () => last() !== undefined });
  const node = last()!;
  return { node, task: hub.tasksOf(node)[0]!, request: requestOf(hub, node)! };
}

/** All that are asked commit, until the step is over. */
function finish(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const { step } = hub.state;
  for (let turn = 0; turn < 100 && hub.state.step === step; turn++) {
    hub.work(nodes, { until: () => hub.state.step > step });
    for (const node of nodes) if (hub.state.step === step && hub.maySeal(node)) hub.seal(node);
  }
}

Deno.test("Asking ahead: with a contributor's last gradient task goes one request, for all of its tasks and results", () => {
  const { hub, nodes, sent } = swarm();
  hub.work(nodes);
  const requests = sent.filter(({ message }) => message.type === "sealStep");
  assertEquals(requests.map(({ node }) => node).sort(), [...nodes].sort());
  for (const node of nodes) {
    const ofNode = sent.filter((each) => each.node === node).map(({ message }) => message);
    const last = ofNode.findLast((message) => message.type === "runTask")!;
    assertEquals(ofNode[ofNode.indexOf(last) + 1]?.type, "sealStep", "right behind the last task");
    const tasks = ofNode.flatMap((message) => message.type === "runTask" ? [message.task] : []);
    const request = ofNode.find((message) => message.type === "sealStep");
    assertEquals(request?.tasks, tasks.filter((task) => !task.includes("forward")));
    assertEquals(new Set(request?.delivered), new Set(tasks));
  }
  for (const node of nodes) hub.seal(node);
  assertEquals([hub.state.step, blamed(hub)], [1, []]);
});

Deno.test("Asking ahead: who says the root of other results is blamed, and one that answers before its last result is not heard", () => {
  const { hub, nodes } = swarm();
  const { node, task, request } = untilLastTask(hub, nodes);
  const { step, request: number, tasks } = request;
  const answer = { type: "stepSealed" as const, step, request: number, tasks: tasks.length, gradientSquareSum: 1 };
  hub.tell(node, { ...answer, root: "ab".repeat(32), signature: "" });
  assertEquals([hub.state.work!.sealed.has(node), blamed(hub)], [false, []]);
  hub.take(node, "runTask");
  hub.finish(node, task);
  hub.tell(node, { ...answer, root: "ab".repeat(32), signature: "" });
  assertEquals([hub.state.work!.sealed.get(node)?.receipt, blamed(hub)], [null, [[node, "unauthenticated"]]]);
  hub.take(node, "sealStep");
  finish(hub, nodes);
  assertEquals(hub.state.step, 1);
});

Deno.test("Asking ahead: a miner that does the last task but commits nothing misses its deadline, and others do its tasks", () => {
  const { hub, nodes } = swarm();
  const { node } = untilLastTask(hub, nodes);
  hub.work(nodes);
  const others = nodes.filter((each) => each !== node);
  for (const each of others) if (hub.maySeal(each)) hub.seal(each);
  assertEquals(hub.state.step, 0);
  hub.wait(30_000);
  finish(hub, others);
  assertEquals([hub.state.step, hub.count("nodeLost")], [1, 0]);
  assertEquals(hub.take(node, "applyStep").tasks, 0);
  assert(hub.state.standings.has(node), "it is noted");
});

Deno.test("Asking ahead: a miner that is lost between its last task and its commitment loses the step, and others do its tasks", () => {
  for (const isDone of [false, true]) {
    const { hub, nodes } = swarm();
    const { node } = untilLastTask(hub, nodes);
    if (isDone) hub.finish(node, hub.take(node, "runTask"));
    hub.tell(node, { type: "leaving", reason: "its owner said so" });
    const others = nodes.filter((each) => each !== node);
    finish(hub, others);
    const lost = hub.records.find((record) => record.type === "nodeLost");
    assertEquals([hub.state.step, lost?.tasksKept, lost?.tasksReissued, blamed(hub)], [1, 0, 2, []]);
  }
});

Deno.test("Asking ahead: a task whose lease misses a deadline is committed by the miner that does it then, and each signs what it delivered", () => {
  const { hub, nodes } = swarm();
  const { node, task, request } = untilLastTask(hub, nodes);
  hub.take(node, "runTask");
  const others = nodes.filter((each) => each !== node);
  hub.work(others);
  hub.wait(61_000);
  assertEquals(hub.records.some((record) => record.type === "taskReleased" && record.task === task.task), true);
  hub.work(others);
  const again = requestOf(hub, node)!;
  assertEquals(again.request > request.request, true, "the first request is void");
  assertEquals(again.tasks, request.tasks.filter((each) => each !== task.task));
  hub.tell(node, { type: "stepSealed", step: 0, request: request.request, tasks: 2, gradientSquareSum: 9 });
  assertEquals(hub.state.work!.sealed.has(node), false);
  finish(hub, nodes);
  assertEquals([hub.state.step, blamed(hub)], [1, []]);
});

Deno.test("Asking ahead: a result that is refused voids the request, and the next one leaves it out", () => {
  const { hub, nodes } = swarm();
  const tails = ofStage(hub, 1);
  const asked = () => tails.find((node) => hub.tasksOf(node).length === 1 && requestOf(hub, node) !== undefined);
  hub.work(nodes, { until: () => asked() !== undefined });
  const node = asked()!;
  const first = requestOf(hub, node)!;
  const { task } = hub.take(node, "runTask");
  hub.tell(node, { type: "taskDone", task, losses: [NaN, NaN], computeMs: 1 }, [hub.blob(64)]);
  const again = requestOf(hub, node);
  assert(again === undefined || again.request > first.request);
  assertEquals(again?.tasks.includes(task) ?? false, false);
  finish(hub, nodes);
  assertEquals(hub.state.step, 1);
});

Deno.test("Asking ahead: a new session voids the request, and a new request covers what is left", () => {
  const { hub, nodes } = swarm();
  const { node, request } = untilLastTask(hub, nodes);
  const { assignment } = hub.state.members.get(node)!;
  hub.step({ type: "nodeDisconnected", node });
  hub.inbox(node).length = 0;
  hub.join(node, { holding: { assignment, round: 0, step: null, tasks: request.tasks.slice(0, -1) } });
  finish(hub, nodes);
  assertEquals([hub.state.step, blamed(hub), hub.count("nodeLost")], [1, [], 0]);
});
