/** A miner whose session was lost comes back and reports what it holds: what fits is kept, the rest is redone or sent again. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import type { Holding } from "../../core/protocol/message.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

function swarm(options: { stepsPerRound?: number; replicas?: number } = {}) {
  const { stepsPerRound = 2, replicas = 1 } = options;
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound },
    swarm: { replicas, validators: 0 },
    limits: { leaseMs: 60_000, disconnectGraceMs: 10_000, restartGraceMs: 20_000 },
  });
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  return { hub, nodes, head: nodes[0]!, tail: nodes[1]! };
}

function holdingOf(hub: ScriptedOrchestrator, node: NodeId, changes: Partial<Holding> = {}): Holding {
  const member = hub.state.members.get(node)!;
  const { assignment, header, stepTasks } = member;
  return { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [...stepTasks], ...changes };
}

/** As after a restart of the orchestrator or of the link: what was sent before is gone. */
function comeBack(hub: ScriptedOrchestrator, node: NodeId, holding: Holding): void {
  hub.step({ type: "nodeDisconnected", node });
  hub.inbox(node).length = 0;
  hub.join(node, { holding });
}

Deno.test("Resume: a miner keeps its gradients; its open leases are handed out anew", () => {
  const { hub, head, tail } = swarm();
  hub.work([head, tail], { until: () => hub.state.work!.credited.size === 2 });
  const credited = [...hub.state.members.get(tail)!.stepTasks];
  comeBack(hub, tail, holdingOf(hub, tail));
  assertEquals(hub.take(tail, "welcome").isKept, true);
  assertEquals([hub.count("nodeResumed"), hub.count("nodeLost")], [1, 0]);
  assertEquals(hub.state.members.get(tail)!.stepTasks, credited);
  hub.work([head, tail]);
  for (const node of [head, tail]) hub.seal(node);
  assertEquals(hub.state.step, 1);
});

Deno.test("Resume: a credited task that the miner does not have is done again", () => {
  const { hub, head, tail } = swarm();
  hub.work([head, tail]);
  const [kept] = hub.state.members.get(tail)!.stepTasks;
  comeBack(hub, tail, holdingOf(hub, tail, { tasks: [kept!] }));
  assertEquals([hub.state.work!.left, hub.state.work!.left === 0], [1, false]);
  hub.work([head, tail]);
  assertEquals(hub.seal(tail).length, 2);
});

Deno.test("Resume: a step header that was lost on the way is sent again, once", () => {
  const { hub, head, tail } = swarm();
  hub.work([head, tail]);
  for (const node of [head, tail]) hub.seal(node);
  assertEquals(hub.state.step, 1);
  comeBack(hub, tail, holdingOf(hub, tail, { step: null }));
  assertEquals([hub.take(tail, "welcome").isKept, hub.take(tail, "applyStep").step], [true, 0]);
  comeBack(hub, tail, holdingOf(hub, tail));
  assertEquals(hub.take(tail, "welcome").isKept, true);
  assertEquals(hub.inbox(tail).some((message) => message.type === "applyStep"), false);
});

Deno.test("Resume: who missed more than one header, or holds another assignment, starts over", () => {
  for (const changes of [{ step: 7 }, { assignment: 99 }, { round: 5 }]) {
    const { hub, head, tail } = swarm();
    hub.work([head, tail]);
    comeBack(hub, tail, holdingOf(hub, tail, changes));
    assertEquals(hub.take(tail, "welcome").isKept, false, JSON.stringify(changes));
    assertEquals([hub.count("nodeLost"), hub.inbox(tail).some((message) => message.type === "assign")], [1, true]);
  }
});

Deno.test("Resume: every request of a merge that is unanswered is asked again, and answered twice it counts once", () => {
  const { hub, nodes, head } = swarm({ stepsPerRound: 1, replicas: 2 });
  const peer = hub.state.rosters[0]!.members[1]!.node;
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  assertEquals(hub.state.phase, "merging");
  comeBack(hub, head, holdingOf(hub, head, { tasks: [] }));
  const { round, slices } = hub.take(head, "startMerge");
  const payload = () => slices.map(({ size }) => hub.blob(4 * size));
  hub.tell(head, { type: "payloadCommitted", round, slices: payload() });
  hub.tell(peer, { type: "payloadCommitted", round, slices: payload() });
  const asked = hub.inbox(head).filter((message) => message.type === "reduceSlice").length;
  assert(asked > 0);
  comeBack(hub, head, holdingOf(hub, head, { tasks: [] }));
  assertEquals(hub.inbox(head).filter((message) => message.type === "reduceSlice").length, asked);
  for (let slice = 0; slice < asked; slice++) {
    const result = hub.blob(4 * slices[slice]!.size);
    for (const node of [head, head, peer]) {
      hub.tell(node, { type: "sliceReduced", round, edition: 1, slice, result });
    }
    hub.step({ type: "sliceRefereed", round, edition: 1, stage: stageIndex(0), slice, result });
  }
  comeBack(hub, head, holdingOf(hub, head, { tasks: [], round: round + 1 })); // applied, but its message was lost
  const parameters = hub.blob(64);
  hub.take(head, "applyMerge");
  for (const node of [head, peer]) {
    hub.tell(node, { type: "mergeApplied", round: round + 1, parameters, momentum: null });
  }
  assertEquals(hub.state.merge!.stages[0]!.phase, "agreed");
  assertEquals(hub.count("nodeLost"), 0);
});

Deno.test("Restart: nodes have the restart's grace to come back; who does not is lost then", () => {
  const { hub, head, tail } = swarm();
  hub.work([head, tail], { until: () => hub.state.work!.credited.size === 1 });
  hub.step({ type: "restarted" });
  hub.inbox(head).length = hub.inbox(tail).length = 0;
  assertEquals([hub.state.counters.restarts, hub.state.work!.leased.size], [1, 0]);
  hub.wait(15_000);
  hub.join(tail, { holding: holdingOf(hub, tail) });
  assertEquals([hub.take(tail, "welcome").isKept, hub.count("nodeLost")], [true, 0]);
  hub.wait(10_000);
  assertEquals(hub.count("nodeLost"), 1);
  assertEquals([...hub.state.members.keys()], [tail]);
});

Deno.test("Restart: a checkpoint that was being written is written", () => {
  const { hub, head, tail } = swarm({ stepsPerRound: 1 });
  hub.work([head, tail]);
  for (const node of [head, tail]) hub.seal(node);
  for (const node of [head, tail]) {
    const { round, slices } = hub.take(node, "startMerge");
    hub.tell(node, { type: "payloadCommitted", round, slices: slices.map(({ size }) => hub.blob(4 * size)) });
    const parameters = hub.blob(64);
    hub.tell(node, { type: "mergeApplied", round: round + 1, parameters, momentum: null });
    hub.effects.push({ type: "release", refs: [parameters] });
  }
  const uploads = [head, tail].map((node) => ({ node, request: hub.take(node, "uploadParameters") }));
  for (const { node, request } of uploads) {
    const { merged } = hub.state.upload!.stages.find((stage) => stage.asked === node)!;
    hub.tell(node, { type: "parametersUploaded", round: request.round, ...merged });
  }
  const writes = () => hub.effects.filter((effect) => effect.type === "writeCheckpoint").length;
  assertEquals(writes(), 1);
  hub.step({ type: "restarted" });
  assertEquals(writes(), 2);
  hub.step({ type: "checkpointWritten", round: 1, folder: "round-1" });
  assertEquals(hub.state.sources.round, 1);
});

Deno.test("Resume: only the answer to the last request to commit counts, an earlier one says nothing of what the device has now", () => {
  const { hub, head, tail } = swarm();
  hub.work([head, tail]);
  hub.seal(head);
  const first = hub.take(tail, "sealStep");
  comeBack(hub, tail, holdingOf(hub, tail));
  const last = hub.take(tail, "sealStep");
  assertEquals([last.tasks, last.request > first.request], [first.tasks, true]);
  const answer = (request: number) =>
    hub.tell(tail, { type: "stepSealed", step: 0, request, tasks: first.tasks.length, gradientSquareSum: 1 });
  answer(first.request);
  assertEquals(hub.state.step, 0);
  answer(last.request);
  assertEquals(hub.state.step, 1);
});
