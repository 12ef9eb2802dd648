/** Who serves which stage: newcomers go where they are missed, and a miner moves when that helps. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { reduceAll } from "../support/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/scripted_orchestrator.ts";

function closeRound(hub: ScriptedOrchestrator): void {
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

/** One merge of everybody, up to the checkpoint. */
function merge(hub: ScriptedOrchestrator): void {
  const { round } = hub.state;
  const nodes = [...hub.state.members.keys()];
  for (const node of nodes) {
    const request = hub.inbox(node).find((message) => message.type === "startMerge");
    if (request?.type !== "startMerge" || !request.contributes) continue;
    hub.tell(node, { type: "payloadCommitted", round, slices: request.slices.map(({ size }) => hub.blob(4 * size)) });
  }
  reduceAll(hub, nodes);
  const merged = hub.state.stages.map(() => hub.blob(64));
  for (const node of nodes) {
    const { stage } = hub.state.members.get(node)!;
    if (stage === null || hub.state.merge?.stages[stage]?.phase !== "applying") continue;
    hub.tell(node, { type: "mergeApplied", round: round + 1, parameters: merged[stage]!, momentum: null });
  }
  for (const stage of hub.state.upload!.stages) {
    hub.tell(stage.asked as NodeId, { type: "parametersUploaded", round: round + 1, ...stage.merged });
  }
  hub.step({ type: "checkpointWritten", round: round + 1, folder: "" });
  for (const node of nodes) hub.inbox(node).splice(0, 0, ...hub.inbox(node).splice(0));
}

Deno.test("Rebalance: newcomers go to the stage with least capacity", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 } });
  const stages = ["a", "b", "c", "d", "e"].map((name) => hub.load(hub.join(name)));
  assertEquals(stages, [0, 1, 0, 1, 0]);
});

Deno.test("Rebalance: a miner moves to the slow stage after a merge, loads it and works there", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 48, steps: 100, stepsPerRound: 1 },
    swarm: { replicas: 3, validators: 0 },
    limits: { leaseMs: 600_000 },
  });
  const nodes = Array.from({ length: 6 }, (_, i) => hub.ready(`miner-${i}`));
  const paceOf = (node: NodeId) => hub.state.members.get(node)!.stage === 1 ? 900 : 100;
  const busyUntil = new Map<NodeId, number>();
  for (let turn = 0; turn < 20_000 && hub.state.work!.left > 0; turn++) {
    hub.nowMs += 50;
    for (const node of nodes) {
      if ((busyUntil.get(node) ?? 0) > hub.nowMs || hub.tasksOf(node).length === 0) continue;
      hub.finish(node, hub.take(node, "runTask"));
      busyUntil.set(node, hub.nowMs + paceOf(node));
    }
  }
  closeRound(hub);
  merge(hub);
  const moves = hub.records.filter((record) => record.type === "nodeMoved");
  assertEquals(moves.map(({ from, to }) => [from as number, to as number]), [[0, 1]]);
  assertEquals(hub.load(moves[0]!.node) as number, 1);
  assertEquals(hub.state.rosters.map((roster) => roster.members.length), [2, 4]);
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
