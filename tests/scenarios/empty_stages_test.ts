/** Rounds of which a stage has no payload: they did not happen, and a run that has nothing else halts. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { OuterConfig } from "../../core/config/config.ts";
import type { Fault } from "../../core/fault.ts";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import { int8 } from "../../core/update/payload/int8.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { commit, reduceAll } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { finishTraining } from "../support/swarm/shown_rounds.ts";

const minuteMs = 60_000;

/** Two stages of one replica each, in rounds of one step. */
function paired(
  { replicas = 1, steps = 8, outer = {} }: { replicas?: number; steps?: number; outer?: Partial<OuterConfig> } = {},
) {
  const hub = new ScriptedOrchestrator({
    outer,
    train: { microbatchesPerStep: 2, steps, stepsPerRound: 1 },
    swarm: { replicas, validators: 0 },
    limits: { mergePhaseMs: minuteMs, leaseMs: 60 * minuteMs, disconnectGraceMs: 10 * minuteMs },
  });
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  return { hub, nodes, stageOf: (node: NodeId) => hub.state.members.get(node)!.stage as number };
}

const recordsOf = <T extends RunRecord["type"]>(hub: ScriptedOrchestrator, type: T) =>
  hub.records.filter((record): record is Extract<RunRecord, { type: T }> => record.type === type);

const refused: Fault = {
  ...{ code: "uploadFailed", detail: "Cannot use a blob as https://run.example answered 413" },
  upload: { status: 413, bytes: 1_500_000, clockMs: 0 },
};

function refuse(hub: ScriptedOrchestrator, node: NodeId): void {
  const { round } = hub.take(node, "startMerge");
  hub.tell(node, { type: "mergeFailed", round, fault: refused });
}

const lapsesOf = (hub: ScriptedOrchestrator, node: NodeId) => hub.state.standings.get(node)?.lapses ?? 0;

/** Everybody loads the stage that it is given anew. */
function reload(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  for (const node of nodes) {
    const assign = hub.inbox(node).findLast((message) => message.type === "assign")!;
    hub.inbox(node).length = 0;
    hub.inbox(node).push(assign);
    hub.load(node);
  }
}

Deno.test("Empty stages: if all uploads are refused the round is repeated, and the next one halts the run; nobody is blamed", () => {
  const { hub, nodes } = paired();
  hub.refusal = "https://run.example answers 413 to an upload of 8 MB";
  for (const lost of [1, 2]) {
    finishTraining(hub, nodes);
    assertEquals([hub.state.phase, hub.state.step], ["merging", 1]);
    for (const node of nodes) refuse(hub, node);
    assertEquals([hub.state.phase, hub.state.step, hub.state.losses.inARow], ["training", 0, lost]);
    reload(hub, nodes);
  }
  assertEquals([hub.count("roundMerged"), hub.state.counters.microbatchesCredited, hub.state.counters.tokens], [
    0,
    0,
    0,
  ]);
  const { stages = [] } = recordsOf(hub, "mergeRetaken")[1]!;
  assertEquals(stages.map(({ stage }) => stage as number), [0, 1]);
  assertStringIncludes(stages[0]!.reason, "an upload of 1,500,000 bytes was answered with HTTP 413");
  assertStringIncludes(recordsOf(hub, "trainingHalted")[0]!.text, "https://run.example");
  assertEquals([hub.state.unpaid.size, [...hub.state.standings.values()].filter(({ lapses }) => lapses > 0)], [0, []]);
  assertEquals([hub.state.work, hub.tasksOf(nodes[0]!)], [null, []], "no step while the run is halted");
});

/** The run halts for four minutes, and loads its stages again. */
function haltLong(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  for (const pauseMs of [0, minuteMs, 2 * minuteMs, 0]) {
    finishTraining(hub, nodes);
    for (const node of nodes) refuse(hub, node);
    reload(hub, nodes);
    hub.wait(pauseMs);
  }
  assertEquals([hub.state.losses.halt === null, hub.state.work], [false, null]);
}

const probesOf = (hub: ScriptedOrchestrator) =>
  hub.effects.flatMap((effect) => effect.type === "probeUploads" ? [effect.bytes] : []);

Deno.test("Empty stages: a halted run repeats the round after its pause even if its address refuses its own uploads for ever", () => {
  const { hub, nodes } = paired();
  hub.refusal = "403 from a router that answers for the address inside its network";
  haltLong(hub, nodes);
  hub.wait(4 * minuteMs);
  assertEquals([hub.state.losses.halt, hub.state.work === null], [null, false]);
});

Deno.test("Empty stages: without a cause on its own side a halted run waits longer each time; its owner may say when", () => {
  const { hub, nodes } = paired();
  const lose = () => {
    finishTraining(hub, nodes);
    for (const node of nodes) refuse(hub, node);
    reload(hub, nodes);
  };
  lose();
  assertEquals(hub.state.losses.halt, null, "the first may be an accident");
  lose();
  hub.wait(minuteMs);
  lose();
  hub.wait(minuteMs);
  assertEquals(hub.state.work, null);
  hub.step({ type: "roundRetried" });
  assertEquals([hub.state.work === null, recordsOf(hub, "trainingHalted").map(({ retryMs }) => retryMs)], [
    false,
    [minuteMs, 2 * minuteMs],
  ]);
});

Deno.test("Empty stages: if the public address refuses the orchestrator's own upload, the same miner is not blamed", () => {
  const { hub, nodes } = paired();
  const [first, second] = nodes as [NodeId, NodeId];
  hub.refusal = "413";
  finishTraining(hub, nodes);
  refuse(hub, first);
  commit(hub, second);
  assertEquals([hub.state.step, hub.state.standings.get(first)?.lapses ?? 0], [0, 0]);
});

Deno.test("Empty stages: behind a proxy that lets payloads through, one that withholds its payload answers for it", () => {
  const { hub, nodes } = paired({ outer: { payload: "int8" } });
  const [first, second] = nodes as [NodeId, NodeId];
  const payloadBytes = int8.payloadBytes(Math.max(...hub.state.stageFloats)).most;
  hub.refusal = "413";
  hub.letsThroughBytes = payloadBytes; // parameters are four times as large
  for (const lost of [1, 2]) {
    finishTraining(hub, nodes);
    commit(hub, second);
    hub.wait(minuteMs);
    assertEquals([hub.state.step, hub.state.losses.inARow], [0, lost]);
    reload(hub, nodes);
  }
  assertEquals([probesOf(hub), lapsesOf(hub, first), lapsesOf(hub, second)], [[payloadBytes, payloadBytes], 2, 0]);
  assertEquals(recordsOf(hub, "trainingHalted")[0]!.text.includes("413"), false, "the proxy is not the cause");
});

Deno.test("Empty stages: a payload that is late because the public address refuses uploads is nobody's fault", () => {
  const { hub, nodes } = paired({ replicas: 2 });
  const [late] = nodes as [NodeId];
  hub.refusal = "503";
  finishTraining(hub, nodes);
  for (const node of nodes.slice(1)) commit(hub, node);
  hub.wait(minuteMs);
  assertEquals([hub.count("mergeLate") > 0, probesOf(hub).length, lapsesOf(hub, late)], [true, 1, 0]);
  assertEquals([...hub.state.unpaid], [late], "but what it learned in the round is in no merge");
});

Deno.test("Empty stages: parameters that are late because the public address refuses uploads are nobody's fault", () => {
  const { hub, nodes } = paired();
  finishTraining(hub, nodes);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters: hub.blob(64), momentum: null });
  hub.refusal = "503";
  hub.wait(2 * minuteMs);
  const late = recordsOf(hub, "mergeLate").map(({ node, phase }) => [phase, lapsesOf(hub, node)]);
  assertEquals(late, [["uploading", 0], ["uploading", 0]]);
  assertEquals(probesOf(hub), [4 * Math.max(...hub.state.stageFloats)]);
});

Deno.test("Empty stages: beside a replica whose payload arrives, a refused one costs no round", () => {
  const { hub, nodes } = paired({ replicas: 2 });
  finishTraining(hub, nodes);
  refuse(hub, nodes[0]!);
  for (const node of nodes.slice(1)) commit(hub, node);
  assertEquals([hub.state.phase, hub.count("mergeRetaken")], ["merging", 0]);
  assertEquals(hub.state.standings.get(nodes[0]!)?.lapses, 1);
});

Deno.test("Empty stages: a merged round whose parameters nobody can store is repeated too, and the second in a row halts the run", () => {
  const { hub, nodes, stageOf } = paired();
  const [first, second] = nodes as [NodeId, NodeId];
  const stage = stageIndex(stageOf(first));
  for (const lost of [1, 2]) {
    finishTraining(hub, nodes);
    for (const node of nodes) commit(hub, node);
    reduceAll(hub, nodes);
    const round = hub.state.round + 1;
    for (const node of nodes) {
      hub.tell(node, { type: "mergeApplied", round, parameters: hub.blob(64), momentum: null });
    }
    assertEquals([hub.count("roundMerged"), hub.state.step], [lost, 1]);
    hub.tell(first, { type: "leaving", reason: "power cut" });
    hub.step({ type: "mergeUnavailable", round: round - 1, stage, lost: "slices" });
    assertEquals([hub.state.step, hub.state.counters.tokens, hub.state.losses.inARow], [0, 0, lost]);
    hub.ready(first);
    reload(hub, [second]);
  }
  const back = recordsOf(hub, "mergeRetaken").map(({ because, stages = [] }) => [because, stages.length]);
  assertEquals(back, [["parametersLost", 1], ["parametersLost", 1]]);
  const [halted] = recordsOf(hub, "trainingHalted");
  assertStringIncludes(halted!.text, `stage ${stage} has no parameters (no miner has its merged parameters`);
  assertEquals([hub.state.work, hub.count("blamed")], [null, 0]);
});

Deno.test("Empty stages: a run whose last round's parameters nobody stores does not end as if it had them", () => {
  const { hub, nodes } = paired({ steps: 1 });
  finishTraining(hub, nodes);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  for (const node of nodes) {
    hub.tell(node, { type: "mergeApplied", round: 1, parameters: hub.blob(64), momentum: null });
  }
  assertEquals([hub.state.phase, hub.count("roundMerged")], ["closing", 1]);
  hub.wait(6 * minuteMs); // neither does the orchestrator answer
  assertEquals([hub.state.phase, hub.state.step, hub.state.counters.roundsLost], ["training", 0, 1]);
  assertEquals([hub.count("runFinished"), recordsOf(hub, "mergeRetaken")[0]?.stages?.length], [0, 2]);
});

Deno.test("Empty stages: payloads that do not come in time lose the round as well", () => {
  const { hub, nodes } = paired();
  finishTraining(hub, nodes);
  commit(hub, nodes[1]!);
  hub.wait(10 * minuteMs);
  assertEquals([hub.state.step, hub.count("roundMerged"), hub.state.counters.roundsLost], [0, 0, 1]);
  assert(recordsOf(hub, "mergeRetaken")[0]!.stages![0]!.reason.includes("no payload"));
});

Deno.test("Empty stages: the orchestrator's restart asks again for the answer of its upload to itself", () => {
  const { hub, nodes } = paired();
  hub.probesUploads = false;
  finishTraining(hub, nodes);
  for (const node of nodes) refuse(hub, node);
  const asked = () => hub.effects.filter(({ type }) => type === "probeUploads").length;
  assertEquals([asked(), hub.state.phase], [1, "merging"]);
  hub.step({ type: "restarted" });
  assertEquals(asked(), 2);
  hub.step({ type: "uploadsProbed", refusal: null });
  assertEquals([hub.state.phase, hub.state.step], ["training", 0]);
});
