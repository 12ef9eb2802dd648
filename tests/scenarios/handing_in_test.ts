/** Miners that leave in the middle of a round: what only they hold of it is merged before they go. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { MinerRecord } from "../../core/miner/event.ts";
import { World } from "../lab/world/world.ts";
import { assertReached } from "../support/swarm/reached.ts";
import { commit } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { finishTraining } from "../support/swarm/shown_rounds.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

/** A miner of the middle stage is asked to stop when step 2 of a round of five has closed. */
async function leaveInRound({ replicas }: { replicas: number }) {
  const seen: MinerRecord[] = [];
  const swarm: World = new World({
    config: configOf({ swarm: { replicas }, train: { steps: 10, stepsPerRound: 5 } }),
    watch: (record) => {
      if (record.type === "stepClosed" && record.step === 2) leaver.role.stop("its owner");
    },
  });
  await swarm.addMiner();
  const leaver = await swarm.addMiner({ onRecord: (record) => seen.push(record) });
  for (let i = 2; i < 3 * replicas; i++) await swarm.addMiner();
  await swarm.runUntil(() => swarm.records.count("nodeLost") === 1);
  const lost = recordsOf(swarm, "nodeLost")[0]!;
  assertEquals([lost.node as string, lost.reason], [leaver.address, "its owner"]);
  return { swarm, seen, lost };
}

Deno.test("Handing in: a stage's only miner leaves after a merge of the round so far, and its successor goes on from there", async () => {
  const { swarm, seen, lost } = await leaveInRound({ replicas: 1 });
  const newcomer = await swarm.addMiner();
  await swarm.runThrough();
  assertWhole(swarm, 10);
  assertReached(swarm.orchestrator.state, "leaving: the round ends early");
  const [first] = recordsOf(swarm, "roundMerged");
  const ready = recordsOf(swarm, "nodeReady").find(({ node }) => node === newcomer.address)!;
  assertEquals([ready.stage as number, ready.round, ready.parameters], [1, 1, first!.stages[1]!.parameters]);
  assertEquals([swarm.records.count("mergeRetaken"), swarm.records.count("roundMerged")], [0, 3]);
  const [early] = recordsOf(swarm, "roundEndsEarly");
  const mergedAt = swarm.records.all.findIndex(({ type }) => type === "roundMerged");
  const steps = swarm.records.all.slice(0, mergedAt).filter(({ type }) => type === "stepClosed").length;
  assertEquals([steps, steps < 5], [early!.step, true]);
  assertEquals(lost.tasksLost, undefined, "all that it was credited for is in the merge");
  const told = seen.filter(({ type }) => type === "handingIn" || type === "handedIn");
  assertEquals(told, [{ type: "handingIn", round: 0, mostMs: 45_000 }, { type: "handedIn", round: 0, isMerged: true }]);
});

Deno.test("Handing in: where others hold as much of the stage's work, a miner leaves at once, and the record says what is lost", async () => {
  const { swarm, seen, lost } = await leaveInRound({ replicas: 3 });
  await swarm.runThrough();
  assertWhole(swarm, 10);
  assertEquals(swarm.records.count("roundEndsEarly"), 0);
  assert((lost.tasksLost ?? 0) > 0);
  assertEquals(seen.some(({ type }) => type === "handingIn"), false);
});

/** Two stages of one miner each; a step of the round has closed and another is open. */
function inRound() {
  const hub = new ScriptedOrchestrator({
    train: { steps: 100, stepsPerRound: 10, microbatchesPerStep: 2 },
    swarm: { replicas: 1, validators: 0 },
  });
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")] as [NodeId, NodeId];
  finishTraining(hub, nodes, () => hub.state.step === 1);
  return { hub, nodes };
}

const answersTo = (hub: ScriptedOrchestrator, node: NodeId) =>
  hub.inbox(node).flatMap((message) => message.type === "leaveAnswered" ? [message.isNeeded] : []);

Deno.test("Handing in: a miner whose payload the merge lacks is needed, and not once it is there", () => {
  const { hub, nodes } = inRound();
  finishTraining(hub, nodes);
  assertEquals(hub.state.phase, "merging");
  hub.tell(nodes[1], { type: "askToLeave" });
  commit(hub, nodes[0]);
  hub.tell(nodes[0], { type: "askToLeave" });
  assertEquals([answersTo(hub, nodes[1]), answersTo(hub, nodes[0])], [[true], [false]]);
});

Deno.test("Handing in: if the leaver is lost before its step closes, the round goes on to its full length", () => {
  const { hub, nodes } = inRound();
  const late = hub.ready("miner-2");
  const stage = hub.state.members.get(late)!.stage;
  const leaver = nodes.find((node) => hub.state.members.get(node)!.stage === stage)!;
  hub.tell(leaver, { type: "askToLeave" });
  assertEquals([answersTo(hub, leaver), hub.state.departing.size], [[true], 1]);
  hub.tell(leaver, { type: "leaving", reason: "its time is over" });
  assertEquals(hub.state.departing.size, 0);
});

Deno.test("Handing in: a miner that asked to leave is also gone when its round is lost", () => {
  const { hub, nodes } = inRound();
  const [leaver, other] = nodes;
  hub.tell(leaver, { type: "askToLeave" });
  finishTraining(hub, nodes);
  const { round } = hub.take(leaver, "startMerge");
  hub.tell(leaver, { type: "mergeFailed", round, fault: { code: "badBlob", detail: "it says" } });
  commit(hub, other);
  assertEquals([hub.count("mergeRetaken"), hub.state.members.has(leaver), hub.state.departing.size], [1, false, 0]);
});
