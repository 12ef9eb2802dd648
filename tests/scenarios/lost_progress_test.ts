/** Stages that lose the miners that trained them in the open round, while the other stages keep theirs. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { commit, reduceAll } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { finishTraining } from "../support/swarm/shown_rounds.ts";

/** Two stages of one miner each; rounds of four steps, of which two have closed. */
function inRound() {
  const hub = new ScriptedOrchestrator({
    train: { steps: 100, stepsPerRound: 4, microbatchesPerStep: 2 },
    swarm: { replicas: 1, validators: 0 },
  });
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")] as [NodeId, NodeId];
  trainTo(hub, nodes, 2);
  return { hub, nodes };
}

function trainTo(hub: ScriptedOrchestrator, nodes: readonly NodeId[], step: number): void {
  finishTraining(hub, nodes, () => hub.state.step >= step);
}

/** Its process was killed and another one takes its place. */
function killed(hub: ScriptedOrchestrator, node: NodeId): void {
  hub.step({ type: "nodeDisconnected", node });
  hub.inbox(node).length = 0;
  hub.join(node);
}

/** One that loses its place while it loads is assigned again. */
function loadAll(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const loading = () => nodes.filter((node) => hub.state.members.get(node)!.status === "loading");
  while (loading().length > 0) for (const node of loading()) hub.load(node);
}

const rewinds = (hub: ScriptedOrchestrator) =>
  hub.records.flatMap((record) => record.type === "mergeRetaken" && record.because === "minersLost" ? [record] : []);

Deno.test("Lost progress: when a stage's only miner is killed, the run goes back to the round's first step and says which stage", () => {
  const { hub, nodes } = inRound();
  const [first, second] = nodes;
  const { stage } = hub.state.members.get(first)!;
  killed(hub, first);
  const [back] = rewinds(hub);
  const { tokens, stages } = back!;
  const { sequencesPerMicrobatch } = hub.state.config.train;
  assertEquals(tokens, 2 * 2 * sequencesPerMicrobatch * hub.state.config.model.contextLength);
  assertEquals(stages?.map((each) => each.stage), [stage!]);
  assertEquals([hub.state.step, hub.state.counters.microbatchesCredited, hub.state.counters.tokens], [0, 0, 0]);
  assertEquals(
    hub.state.members.get(second)!.status,
    "loading",
    "the others begin with the round's parameters as well",
  );
  loadAll(hub, nodes);
  finishTraining(hub, nodes);
  assertEquals([hub.state.phase, hub.state.step, rewinds(hub).length], ["merging", 4, 1]);
});

Deno.test("Lost progress: a miner that keeps leaving holds a round up three times, and then its lost work is counted", () => {
  const { hub, nodes } = inRound();
  const [leaver] = nodes;
  for (let times = 0; times < 4; times++) {
    killed(hub, leaver);
    loadAll(hub, nodes);
    if (times < 3) trainTo(hub, nodes, 2);
  }
  assertReached(hub.state, "lost progress: the round goes on without it");
  assertEquals([rewinds(hub).length, hub.state.step], [3, 2]);
  finishTraining(hub, nodes);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters: hub.blob(64), momentum: null });
  const merged = hub.records.findLast((record) => record.type === "roundMerged");
  assertEquals([merged?.tasksLost, hub.state.counters.gradientsLost], [2 * 2, 2 * 2]);
});

Deno.test("Lost progress: a miner that keeps leaving takes nothing from the restarts for made-up wires, which have their own bound", () => {
  const { hub, nodes } = inRound();
  const [leaver] = nodes;
  for (let times = 0; times < 3; times++) {
    killed(hub, leaver);
    loadAll(hub, nodes);
    trainTo(hub, nodes, 2);
  }
  const reasons = () => hub.records.flatMap((record) => record.type === "mergeRetaken" ? [record.because] : []);
  assertEquals(reasons(), ["minersLost", "minersLost", "minersLost"]);
  for (let times = 0; times < 4; times++) {
    hub.state.restartBecause = "The wires of a liar were made up"; // as the arbiter sets it
    hub.step({ type: "tick" });
    loadAll(hub, nodes);
  }
  assertEquals(reasons().slice(3), ["madeUpWires", "madeUpWires", "madeUpWires"]);
  const last = hub.records.findLast((record) => record.type === "warning");
  assertStringIncludes(last?.text ?? "", "has restarted 3 times for such wires");
});

Deno.test("Lost progress: it is not lost while another miner of the stage has trained in the round", () => {
  const hub = new ScriptedOrchestrator({
    train: { steps: 100, stepsPerRound: 4, microbatchesPerStep: 4 },
    swarm: { replicas: 2, validators: 0 },
  });
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  trainTo(hub, nodes, 2);
  killed(hub, nodes[0]!);
  assertEquals([rewinds(hub).length, hub.state.step], [0, 2]);
  const lost = hub.records.findLast((record) => record.type === "nodeLost");
  assertEquals((lost?.tasksLost ?? 0) > 0, true);
});
