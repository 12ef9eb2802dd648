/** An audit repeats a pass: a miner's forward of a microbatch, and its backward by the same validator, one after the other. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { Replay } from "../../core/protocol/message.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const right = { innovationError: 0, equalShare: 1, lossError: null };
const wrong = { innovationError: 2, equalShare: 0, lossError: null };
const ofPasses = 1; // the stage whose tasks have both directions and outputs

/** Three stages of one replica and two validators; the round's first step is closed. */
function audited({ evaluationMs = 0 } = {}) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 3 },
    pipeline: { stages: 3 },
    validate: { replaysPerMiner: 1, statesPerRound: 0, gradientsPerRound: 0 },
    train: { microbatchesPerStep: 4, steps: 9, stepsPerRound: 3 },
    swarm: { replicas: 1, validators: 2 },
    limits: { leaseMs: 600_000, mergePhaseMs: 600_000 },
  });
  const judges = [hub.validator("validator-0"), hub.validator("validator-1")];
  const nodes = [0, 1, 2].map((i) => hub.ready(`miner-${i}`));
  hub.nowMs += evaluationMs;
  for (const judge of judges) answerEvaluation(hub, judge);
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  return { hub, judges, miner: [...hub.state.members.values()].find(({ stage }) => stage === ofPasses)!.node };
}

function answerEvaluation(hub: ScriptedOrchestrator, judge: NodeId): void {
  const { request } = hub.take(judge, "evaluate");
  hub.tell(judge, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
}

type Asked = Replay & { readonly judge: NodeId };

/** Answers what the validators are asked, until they are asked nothing more; `find` says what they find. */
function answerAll(
  hub: ScriptedOrchestrator,
  { judges, find }: { judges: readonly NodeId[]; find: (asked: Asked) => typeof right | null },
): Asked[] {
  const all: Asked[] = [];
  for (;;) {
    const judge = judges.find((each) => hub.inbox(each).some(({ type }) => type === "replay"));
    if (judge === undefined) return all;
    const asked = { ...hub.take(judge, "replay"), judge };
    all.push(asked);
    const found = find(asked);
    if (found === null) hub.tell(judge, { type: "leaving", reason: "enough" });
    else hub.tell(judge, { type: "replayed", request: asked.request, ...found, signature: "" });
  }
}

const passOf = (all: readonly Asked[], miner: NodeId) => all.filter((asked) => asked.miner === miner);
const microbatchOf = ({ task }: Asked) => task.split(".")[0];

Deno.test("Audited pass: whoever has repeated a forward is asked for its backward next, of each miner that did both", () => {
  const { hub, judges, miner } = audited();
  const all = answerAll(hub, { judges, find: () => right });
  assertEquals(all.map(({ direction }) => direction).toSorted(), [
    "backward",
    "forward",
    "forward",
    "forward",
    "turnaround",
    "turnaround",
  ]);
  const [forward, backward] = passOf(all, miner) as [Asked, Asked];
  assertEquals([forward.direction, backward.direction], ["forward", "backward"]);
  assertEquals([backward.judge, microbatchOf(backward)], [forward.judge, microbatchOf(forward)]);
  assertEquals(hub.records.filter(({ type }) => type === "verdict").length, 6);
  assertEquals(hub.state.audit.open.size, 0);
});

Deno.test("Audited pass: many quick answers leave the time for an evaluation, which takes longer, as it was", () => {
  const evaluationMs = 6_000;
  const { hub, judges } = audited({ evaluationMs });
  const before = hub.state.audit.slowestMs.get("evaluate");
  assert(before !== undefined && before >= 0.9 * evaluationMs, `${before} ms`);
  const all = answerAll(hub, { judges, find: () => right });
  assertEquals([all.length, hub.state.audit.slowestMs.get("evaluate")], [6, before]);
  assert(hub.state.audit.slowestMs.get("replay")! < evaluationMs);
});

Deno.test("Audited pass: of a head, whose backward makes nothing to compare, and of a tail, whose pass is one task, two are repeated", () => {
  for (const [ofStage, direction] of [[0, "forward"], [2, "turnaround"]] as const) {
    const { hub, judges } = audited();
    const miner = [...hub.state.members.values()].find(({ stage }) => stage === ofStage)!.node;
    const asked = passOf(answerAll(hub, { judges, find: () => right }), miner);
    assertEquals(asked.map((each) => each.direction), [direction, direction]);
    assertEquals(new Set(asked.map(microbatchOf)).size, 2, "of two microbatches");
  }
});

Deno.test("Audited pass: a cheat in one direction is found in it, and the second validator repeats only that task", () => {
  for (const direction of ["forward", "backward"]) {
    const { hub, judges, miner } = audited();
    const all = answerAll(hub, {
      judges,
      find: (asked) => asked.miner === miner && asked.direction === direction ? wrong : right,
    });
    const ofMiner = passOf(all, miner).map((asked) => [asked.direction, asked.judge] as const);
    const finders = ofMiner.filter(([each]) => each === direction).map(([, judge]) => judge);
    assertEquals([finders.length, new Set(finders).size, ofMiner.length], [2, 2, 3], direction);
    assertEquals(hub.effects.filter(({ type }) => type === "refereeTask").length, 1);
  }
});

Deno.test("Audited pass: if the validator leaves in between, the other one repeats the backward", () => {
  const { hub, judges, miner } = audited();
  const isOfMiner = ({ miner: node, direction }: Asked) => node === miner && direction === "backward";
  let left = 0;
  const all = answerAll(hub, { judges, find: (asked) => isOfMiner(asked) && left++ === 0 ? null : right });
  const [forward, lost, backward] = passOf(all, miner) as [Asked, Asked, Asked];
  assertEquals([forward.judge, lost.task], [lost.judge, backward.task]);
  assertNotEquals(backward.judge, lost.judge);
  assertEquals(hub.state.audit.open.size, 0);
});
