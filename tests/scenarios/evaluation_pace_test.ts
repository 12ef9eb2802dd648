/** Which rounds are evaluated where evaluations have a share of the computing, and where training finds that a merge did harm. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { commit, reduceAll } from "../support/swarm/scripted_merge.ts";

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

function trainRound(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  mergeRound(hub, nodes)();
}

/** Returns how its parameters are published. */
function mergeRound(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): () => void {
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  if (hub.state.config.validate.replaysPerMiner > 0) hub.wait(1000); // for them
  const parameters = hub.blob(64);
  const round = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  return () => {
    const uploader = hub.state.upload?.stages[0]?.asked as NodeId;
    hub.tell(uploader, { type: "parametersUploaded", round, parameters, momentum: null });
    hub.step({ type: "checkpointWritten", round, folder: "" });
  };
}

function firstStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[], loss: number): void {
  hub.loss = loss;
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

/** Answers whatever is asked for. Returns the rounds. */
function evaluate(hub: ScriptedOrchestrator, judges: readonly NodeId[], loss: number): Set<number> {
  const rounds = new Set<number>();
  for (let busy = true; busy;) {
    busy = false;
    for (const judge of judges) {
      if (!hub.inbox(judge).some(({ type }) => type === "evaluate")) continue;
      busy = true;
      const { request, round } = hub.take(judge, "evaluate");
      rounds.add(round);
      hub.tell(judge, { type: "evaluated", request, loss, tokens: 64, signature: "" });
    }
  }
  return rounds;
}

Deno.test("Evaluation pace: the first and the last round, and between them as many as the share allows", () => {
  for (const [evaluationShare, between] of [[0, 0], [0.04, 4], [0.4, 39]] as const) {
    const { hub, judges, nodes } = watched({ evaluationShare });
    const rounds = evaluate(hub, judges, 5);
    for (let round = 1; round <= steps; round++) {
      trainRound(hub, nodes);
      for (const each of evaluate(hub, judges, 5)) rounds.add(each);
    }
    assertEquals([rounds.has(0), rounds.has(steps)], [true, true], `share ${evaluationShare}`);
    assertEquals(rounds.size - 2, between, `share ${evaluationShare}: ${[...rounds]}`);
    assertEquals(hub.state.facts.heldOutLast, { round: steps, loss: 5 });
  }
});

Deno.test("Evaluation pace: a single validator's evaluations cost half, so there are twice as many", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0.04, validators: 1 });
  const rounds = evaluate(hub, judges, 5);
  for (let round = 1; round <= steps; round++) {
    trainRound(hub, nodes);
    for (const each of evaluate(hub, judges, 5)) rounds.add(each);
  }
  assertEquals(rounds.size - 2, 7, `${[...rounds]}`); // every fifth of 39
});

Deno.test("Evaluation pace: a merge that did harm is evaluated as soon as training shows it, and taken back", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0 });
  hub.loss = 5;
  evaluate(hub, judges, 5);
  trainRound(hub, nodes);
  trainRound(hub, nodes);
  assertEquals([...evaluate(hub, judges, 5)], [], "nothing is out of the ordinary");
  hub.loss = 9;
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  const { round } = hub.state;
  assertEquals([...evaluate(hub, judges, 9)], [round]);
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
    for (const each of evaluate(hub, judges, 5)) rounds.add(each);
  }
  assertEquals([...rounds], [5], "one is enough");
  firstStep(hub, nodes, 9);
  evaluate(hub, judges, 9);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: a merge that did harm is evaluated later, if validators had no time for it at once", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0 });
  hub.loss = 5;
  evaluate(hub, judges, 5);
  trainRound(hub, nodes);
  hub.loss = 9;
  for (const judge of judges) hub.tell(judge, { type: "leaving", reason: "in this test" });
  for (let round = 1; round <= 3; round++) trainRound(hub, nodes);
  const others = [hub.validator("other-0"), hub.validator("other-1")];
  evaluate(hub, others, 9);
  firstStep(hub, nodes, 9);
  evaluate(hub, others, 9);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: merges that each did a little harm are evaluated once it is much", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0 });
  hub.loss = 5;
  evaluate(hub, judges, 5);
  trainRound(hub, nodes);
  for (const loss of [5.3, 5.4]) {
    hub.loss = loss;
    trainRound(hub, nodes);
    assertEquals([...evaluate(hub, judges, loss)], []);
  }
  firstStep(hub, nodes, 5.7);
  assertEquals([...evaluate(hub, judges, 5.7)], [hub.state.round - 1]);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: a round that did harm is asked for once its parameters can be fetched", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0 });
  hub.loss = 5;
  evaluate(hub, judges, 5);
  trainRound(hub, nodes);
  const publish = mergeRound(hub, nodes);
  firstStep(hub, nodes, 9);
  assertEquals(hub.state.audit.queue.size, 0, "else it would wait in vain if the run went back before");
  publish();
  assertEquals(evaluate(hub, judges, 9).size, 1);
  assertEquals(hub.count("mergeRetaken"), 1);
});

Deno.test("Evaluation pace: the round after one that was taken back is evaluated", () => {
  const { hub, judges, nodes } = watched({ evaluationShare: 0 });
  hub.loss = 5;
  evaluate(hub, judges, 5);
  trainRound(hub, nodes);
  hub.loss = 9;
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  evaluate(hub, judges, 9);
  assertEquals(hub.count("mergeRetaken"), 1);
  if (hub.state.upload !== null) hub.step({ type: "checkpointWritten", round: hub.state.round, folder: "" });
  for (const node of nodes) {
    hub.take(node, "startMerge"); // of the round that was taken back
    if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  }
  hub.loss = 5;
  trainRound(hub, nodes);
  assert(evaluate(hub, judges, 5).has(hub.state.round));
});

Deno.test("Evaluation pace: the last evaluation waits behind no replay", () => {
  const { hub, judges: [judge], nodes } = watched({ evaluationShare: 0, validators: 1 });
  evaluate(hub, [judge!], 5);
  for (let round = 1; round < steps; round++) trainRound(hub, nodes);
  hub.state.config.validate.replaysPerMiner = 1;
  trainRound(hub, nodes);
  assertEquals(hub.state.audit.queue.size, 4, "three replays and the evaluation, as one replay is being done");
  const { request } = hub.take(judge!, "replay");
  hub.tell(judge!, { type: "requestFailed", request, fault: { code: "badBlob", detail: "not in this test" } });
  assertEquals(hub.inbox(judge!).at(-1)?.type, "evaluate");
});
