/** A merge waits, for a bounded time, for the audits of its round: what they prove must come before the result is applied. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { waitDueMs, waitsForAudits } from "../../core/orchestrator/audit/round_audits.ts";
import { commit, reduceAll, stageOf } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

/** One stage with all slices reduced, and a validator that has one replay of the round; the other, and those of the other replicas, wait. */
function reduced(replicas = 2) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    train: { microbatchesPerStep: 10, steps: 42, stepsPerRound: 1 },
    validate: { replaysPerMiner: 1 },
    swarm: { replicas, validators: 1 },
    limits: { mergePhaseMs: 600_000, mergeGraceMs: 5_000, leaseMs: 600_000 },
  });
  const judge = hub.validator("judge");
  answerEvaluations(hub, judge);
  const nodes = Array.from({ length: replicas }, (_, i) => hub.ready(`miner-${i}`));
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  return { hub, judge, nodes };
}

function answerEvaluations(hub: ScriptedOrchestrator, judge: NodeId): void {
  for (const message of hub.inbox(judge).splice(0)) {
    if (message.type !== "evaluate") continue;
    hub.tell(judge, { type: "evaluated", request: message.request, loss: 2, tokens: 10, signature: "" });
  }
}

function passReplay(hub: ScriptedOrchestrator, judge: NodeId): void {
  const { request } = hub.take(judge, "replay");
  const found = { innovationError: 0, equalShare: 1, lossError: 0 };
  hub.tell(judge, { type: "replayed", request, ...found, signature: "" });
}

const waitedMs = (hub: ScriptedOrchestrator) =>
  hub.records.flatMap((record) => record.type === "roundMerged" ? [record.waitedMs] : []);

function applied(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const merged = { parameters: hub.blob(64), momentum: null };
  for (const node of nodes) {
    hub.take(node, "applyMerge");
    hub.tell(node, { type: "mergeApplied", round: 1, ...merged });
  }
}

Deno.test("Merge: it is applied as soon as the round's replays are done", () => {
  const { hub, judge, nodes } = reduced();
  for (let i = 0; i < 3; i++) passReplay(hub, judge); // two of each replica
  assertEquals(stageOf(hub).phase, "reducing");
  hub.wait(30);
  passReplay(hub, judge);
  assertEquals(stageOf(hub).phase, "applying");
  applied(hub, nodes);
  assertEquals([hub.state.phase, waitedMs(hub)], ["training", [30]]);
});

Deno.test("Merge: for a validator that does not answer it waits a tenth of the time of the round's steps", () => {
  const { hub, nodes } = reduced();
  assertEquals(hub.state.interval.stepsMs, 1000);
  hub.wait(99);
  assertEquals(stageOf(hub).phase, "reducing");
  hub.wait(1);
  assertEquals(stageOf(hub).phase, "applying");
  applied(hub, nodes);
  assertEquals([hub.state.phase, waitedMs(hub), hub.count("faultSeen")], ["training", [100], 0]);
});

Deno.test("Merge: its wait is over when its deadline is, however the times round", () => {
  const { hub } = reduced();
  const merge = hub.state.merge!;
  for (let i = 0; i < 200; i++) {
    merge.waitsSinceMs = 1_000_000.1 + 0.37 * i;
    hub.state.interval.stepsMs = 4_001.7 + 1.1 * i;
    const dueMs = waitDueMs(hub.state)!;
    assertEquals([waitsForAudits(hub.state, dueMs - 1), waitsForAudits(hub.state, dueMs)], [true, false], `${i}`);
  }
});

Deno.test("Merge: without a validator it does not wait", () => {
  const { hub, judge } = reduced();
  hub.tell(judge, { type: "leaving", reason: "enough" });
  assertEquals(stageOf(hub).phase, "applying");
});

Deno.test("Merge: a liar that is proven while it waits has the round begin anew, from what its miners still have", () => {
  const { hub, judge, nodes } = reduced();
  const { request } = hub.take(judge, "replay");
  const found = { innovationError: 2, equalShare: 0, lossError: 0 };
  hub.tell(judge, { type: "replayed", request, ...found, signature: "" });
  const asked = hub.effects.find((effect) => effect.type === "refereeTask")!;
  const repeated = { ...found, beyondRounding: 2, rounding: 0 };
  hub.step({ type: "taskRefereed", task: asked.task, found: repeated, detail: "" });
  const { phase, round, step, expelled } = hub.state;
  assertEquals([phase, round, step, expelled.size, hub.count("mergeRetaken")], ["training", 1, 0, 1, 1]);
  const told = nodes.flatMap((node) => hub.inbox(node).map(({ type }) => type));
  assertEquals(told.includes("applyMerge"), false);
});

Deno.test("Merge: a ban while it waits does not renew the time", () => {
  const { hub, judge, nodes } = reduced(4);
  const most = hub.state.interval.stepsMs / 10;
  hub.wait(most - 10);
  const { request } = hub.take(judge, "replay");
  const found = { innovationError: 0, equalShare: 1, lossError: 2 }; // losses spoil no wires, so the round goes on
  hub.tell(judge, { type: "replayed", request, ...found, signature: "" });
  const { task } = hub.effects.find((effect) => effect.type === "refereeTask")!;
  hub.step({ type: "taskRefereed", task, found: { ...found, beyondRounding: 0, rounding: 0 }, detail: "" });
  const [liar] = [...hub.state.expelled];
  reduceAll(hub, nodes.filter((node) => node !== liar));
  assertEquals([hub.state.expelled.size, stageOf(hub).phase], [1, "reducing"]);
  hub.wait(10);
  assertEquals(stageOf(hub).phase, "applying");
});

Deno.test("Merge: it waits for the orchestrator's own repetition also when the only validator has left", () => {
  const { hub, judge } = reduced();
  const { request } = hub.take(judge, "replay");
  hub.tell(judge, { type: "replayed", request, innovationError: 2, equalShare: 0, lossError: 0, signature: "" });
  hub.tell(judge, { type: "leaving", reason: "enough" });
  assertEquals([hub.state.audit.refereed.size, stageOf(hub).phase], [1, "reducing"]);
});
