/** Which rounds are evaluated where evaluations have a share of the computing, and where training finds that a merge did harm. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { evaluate, mergeRound, trainRound, trainStep } from "../support/swarm/scripted_rounds.ts";

const steps = 40; // of the run, a round each: a step is worth 12 forwards of the model, an evaluation by two 4

function watched(
  { evaluationShare, validators = 2, late = 0 }: { evaluationShare: number; validators?: number; late?: number },
) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    validate: { replaysPerMiner: 0, statesPerRound: 0, heldOutSequences: 4, evaluationShare },
    train: { sequencesPerMicrobatch: 2, microbatchesPerStep: 4, steps, stepsPerRound: 1 },
    swarm: { replicas: 2, validators: validators + late },
    limits: { mergePhaseMs: 60_000, mergeGraceMs: 5_000, leaseMs: 600_000 },
  });
  const judges = Array.from({ length: validators }, (_, i) => hub.validator(`validator-${i}`));
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")];
  return { hub, judges, nodes };
}

/** As above, with a first round that was found good. */
function foundGood() {
  const swarm = watched({ evaluationShare: 0 });
  const { hub, judges, nodes } = swarm;
  hub.loss = 5;
  evaluate(hub, judges, () => 5);
  trainRound(hub, nodes);
  return swarm;
}

/** The rounds that are evaluated in a whole run of ordinary ones. */
function evaluatedOf({ hub, judges, nodes }: ReturnType<typeof watched>): Set<number> {
  const rounds = evaluate(hub, judges, () => 5);
  for (let round = 1; round <= steps; round++) {
    trainRound(hub, nodes);
    for (const each of evaluate(hub, judges, () => 5)) rounds.add(each);
  }
  return rounds;
}

function trainWith(hub: ScriptedOrchestrator, nodes: readonly NodeId[], loss: number): void {
  hub.loss = loss;
  trainStep(hub, nodes);
}

Deno.test("Evaluation pace: the first and the last round, and between them as many as the share allows", () => {
  for (const [evaluationShare, between] of [[0, 0], [0.04, 4], [0.06, 6], [0.4, 39]] as const) {
    const swarm = watched({ evaluationShare });
    const rounds = evaluatedOf(swarm);
    assertEquals([rounds.has(0), rounds.has(steps)], [true, true], `share ${evaluationShare}`);
    assertEquals(rounds.size - 2, between, `share ${evaluationShare}: ${[...rounds]}`);
    assertEquals(swarm.hub.state.facts.heldOutLast, { round: steps, loss: 5 });
  }
});

Deno.test("Evaluation pace: a single validator's evaluations cost half, so there are twice as many", () => {
  const rounds = evaluatedOf(watched({ evaluationShare: 0.04, validators: 1 }));
  assertEquals(rounds.size - 2, 7, `${[...rounds]}`); // every fifth of 39
});

Deno.test("Evaluation pace: at least every eighth round, however small the share", () => {
  assertEquals([...evaluatedOf(watched({ evaluationShare: 1e-9 }))], [0, 8, 16, 24, 32, 40]);
});

Deno.test("Evaluation pace: a merge that did harm is evaluated as soon as training shows it, and taken back", () => {
  const { hub, judges, nodes } = foundGood();
  trainRound(hub, nodes);
  assertEquals([...evaluate(hub, judges, () => 5)], [], "nothing is out of the ordinary");
  trainWith(hub, nodes, 9);
  const { round } = hub.state;
  assertEquals([...evaluate(hub, judges, () => 9)].sort(), [round - 1, round]);
  assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, 0], "back to the last good round");
});

Deno.test("Evaluation pace: with validators that come late, a round is found good before one can do harm", () => {
  const { hub, nodes } = watched({ evaluationShare: 0, validators: 0, late: 2 });
  hub.loss = 5;
  for (let round = 1; round <= 4; round++) trainRound(hub, nodes);
  const judges = [hub.validator("late-0"), hub.validator("late-1")];
  const rounds = new Set<number>();
  for (let round = 5; round <= 8; round++) {
    trainRound(hub, nodes);
    for (const each of evaluate(hub, judges, () => 5)) rounds.add(each);
  }
  assertEquals([...rounds], [5], "one is enough");
  trainWith(hub, nodes, 9);
  evaluate(hub, judges, () => 9);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: a merge that did harm is evaluated later, if validators had no time for it at once", () => {
  const { hub, judges, nodes } = foundGood();
  hub.loss = 9;
  for (const judge of judges) hub.tell(judge, { type: "leaving", reason: "in this test" });
  for (let round = 1; round <= 3; round++) trainRound(hub, nodes);
  const others = [hub.validator("other-0"), hub.validator("other-1")];
  evaluate(hub, others, () => 9);
  trainWith(hub, nodes, 9);
  evaluate(hub, others, () => 9);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: merges that each did a little harm are evaluated once it is much", () => {
  const { hub, judges, nodes } = foundGood();
  for (const loss of [5.3, 5.4]) {
    hub.loss = loss;
    trainRound(hub, nodes);
    assertEquals([...evaluate(hub, judges, () => loss)], []);
  }
  trainWith(hub, nodes, 5.7);
  const { round } = hub.state;
  assertEquals([...evaluate(hub, judges, () => 5.7)].sort(), [round - 1, round]);
  assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, 0], "to where no harm was done");
});

Deno.test("Evaluation pace: a round that did harm is asked for once its parameters can be fetched", () => {
  const { hub, judges, nodes } = foundGood();
  const publish = mergeRound(hub, nodes);
  trainWith(hub, nodes, 9);
  assertEquals(hub.state.audit.queue.size, 0, "otherwise it waits in vain if the run rolled back before");
  publish();
  const { round } = hub.state;
  assert(evaluate(hub, judges, () => 9).has(round));
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: a run that must go back loses one round, if the one before it is no worse than the last good one", () => {
  for (const [before, kept] of [[4.9, 3], [5.1, 0]] as const) {
    const { hub, judges, nodes } = foundGood();
    trainRound(hub, nodes);
    trainRound(hub, nodes);
    trainRound(hub, nodes);
    const { round } = hub.state;
    trainWith(hub, nodes, 9);
    const lossOf = (_: NodeId, each: number) => each === round ? 9 : before;
    assertEquals([...evaluate(hub, judges, lossOf)].sort(), [round - 1, round]);
    assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, kept], `${before}`);
  }
});

/** A jump, which both have found; one of them keeps what it is asked about the round before. */
function keptBack() {
  const swarm = foundGood();
  const { hub, judges, nodes } = swarm;
  for (let round = 2; round <= 4; round++) trainRound(hub, nodes);
  const { round, firstSteps } = hub.state;
  trainWith(hub, nodes, 9);
  const asked = (judge: NodeId) => hub.inbox(judge).find((message) => message.type === "evaluate");
  const [quiet, other] = judges.toSorted((a) => asked(a)?.round === round ? -1 : 1) as [NodeId, NodeId];
  const answer = (judge: NodeId, loss: number) => {
    const { request } = hub.take(judge, "evaluate");
    hub.nowMs += 100;
    hub.tell(judge, { type: "evaluated", request, loss, tokens: 64, signature: "" });
  };
  answer(quiet, 9);
  answer(other, 4.9);
  answer(other, 9);
  assertEquals([asked(quiet)?.round, asked(other)], [round - 1, undefined]);
  assertEquals([hub.count("mergeRetaken"), hub.state.retakeBecause === null], [0, false], "it is waited for");
  return { ...swarm, kept: firstSteps.get(round - 1)!, answerLate: () => answer(quiet, 4.9) };
}

Deno.test("Evaluation pace: whoever keeps the evaluation of the round before is waited for until its deadline", () => {
  for (const isSaid of [true, false]) {
    const { hub, kept, answerLate } = keptBack();
    if (isSaid) answerLate();
    else hub.wait(60_000);
    assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, isSaid ? kept : 0]);
  }
});

Deno.test("Evaluation pace: nobody waits for the round before once the last step is done, or while nobody can compute", () => {
  const last = keptBack().hub;
  last.state.config.train.steps = last.state.step;
  const broken = keptBack().hub;
  broken.state.reloads.set(stageIndex(0), 1);
  for (const hub of [last, broken]) {
    hub.step({ type: "tick" });
    assertEquals([hub.count("mergeRetaken"), hub.state.step, hub.state.phase], [1, 0, "training"]);
  }
});

Deno.test("Evaluation pace: the round before is waited for also where the open round begins anew", () => {
  const { hub, kept, answerLate } = keptBack();
  hub.state.restartBecause = "In this test";
  hub.step({ type: "tick" });
  answerLate();
  const because = hub.records.flatMap((record) => record.type === "mergeRetaken" ? [record.because] : []);
  assertEquals([because, hub.state.step], [["madeUpWires", "lossJumped"], kept]);
});

Deno.test("Evaluation pace: the round before is kept only until training has tested the open one", () => {
  const { hub, nodes } = foundGood();
  trainRound(hub, nodes);
  const before = () => hub.state.retired.map(({ round }) => round);
  assertEquals(before(), [hub.state.round - 1]);
  trainStep(hub, nodes);
  assertEquals(before(), []);
});

Deno.test("Evaluation pace: the round after one that was taken back is evaluated", () => {
  const { hub, judges, nodes } = foundGood();
  trainWith(hub, nodes, 9);
  evaluate(hub, judges, () => 9);
  assertEquals(hub.count("mergeRetaken"), 1);
  if (hub.state.upload !== null) hub.step({ type: "checkpointWritten", round: hub.state.round, folder: "" });
  for (const node of nodes) {
    hub.take(node, "startMerge"); // of the round that was taken back
    if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  }
  hub.loss = 5;
  trainRound(hub, nodes);
  assert(evaluate(hub, judges, () => 5).has(hub.state.round));
});

Deno.test("Evaluation pace: the last evaluation waits behind no replay", () => {
  const { hub, judges: [judge], nodes } = watched({ evaluationShare: 0, validators: 1 });
  evaluate(hub, [judge!], () => 5);
  for (let round = 1; round < steps; round++) trainRound(hub, nodes);
  hub.state.config.validate.replaysPerMiner = 1;
  mergeRound(hub, nodes, { waitMs: 1000 })();
  assertEquals(hub.state.audit.queue.size, 4, "three replays and the evaluation, as one replay is being done");
  const { request } = hub.take(judge!, "replay");
  hub.tell(judge!, { type: "requestFailed", request, fault: { code: "badBlob", detail: "not in this test" } });
  assertEquals(hub.inbox(judge!).at(-1)?.type, "evaluate");
});
