/** Traces of audits: a false result, and a model that became worse. The files in traces/ are for reading. */

import { type NodeId, nodeId } from "../../core/ids.ts";
import { check, drawn, fine as fineWay, merge, rounds, show, train } from "../support/swarm/shown_rounds.ts";
import { evaluate } from "../support/swarm/scripted_rounds.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { assertTrace, Trace } from "../support/swarm/trace.ts";
import { applyAll, closeStep, commitAll, store, tracedSwarm } from "../support/swarm/traced_swarm.ts";

const fine = { rounding: 0, beyondRounding: 0, innovationError: 1e-6, equalShare: 0.9, lossError: null };
const wrong = { rounding: 0, beyondRounding: 2, innovationError: 2, equalShare: 0, lossError: null };

Deno.test("Trace: a validator finds a false result, the arbiter confirms it, and its miner is banned", () => {
  const { hub, nodes, judges: [judge], headB: liar } = tracedSwarm(2, {
    validate: { replaysPerMiner: 1 },
    swarm: { validators: 1 },
  });
  evaluate(hub, [judge!], () => 4);
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  const answer = (isFound: boolean) => {
    const { request, miner } = hub.take(judge!, "replay");
    if ((miner === liar) !== isFound) throw new Error(`The validator was asked about ${miner}`);
    hub.tell(judge!, { type: "replayed", request, ...(isFound ? wrong : fine), signature: "" });
  };
  trace.note(
    "After a round's first step the validator repeats a task of every miner. Those of head-a and tail-a are right.",
  );
  answer(false);
  answer(false);
  trace.note("That of head-b is far off. An accusation is not proof: head-b stays, and the arbiter repeats the task.");
  answer(true);
  trace.note(
    "The arbiter finds the same error. head-b is banned, and its false wire has spoilt the round: it begins anew.",
  );
  const { task } = hub.effects.findLast((effect) => effect.type === "refereeTask")!;
  hub.step({ type: "taskRefereed", task, found: wrong, detail: "" });
  trace.note("The others load the parameters of the round's start, and training continues.");
  for (const node of nodes) if (node !== liar) hub.load(node);
  assertTrace("accused_miner", trace);
});

Deno.test("Trace: the held-out loss jumps, and the run rolls back to the last good round", () => {
  const { hub, nodes, judges } = tracedSwarm(1, {
    train: { microbatchesPerStep: 1, stepsPerRound: 1 },
    swarm: { validators: 2 },
  });
  const train = () => {
    closeStep(hub, nodes);
    commitAll(hub, nodes);
    hub.wait(1_000); // audits of the round have so long
    applyAll(hub, nodes);
    store(hub);
  };
  evaluate(hub, judges, () => 4);
  train();
  evaluate(hub, judges, () => 3);
  train();
  const trace = new Trace(hub);
  const [first, second] = judges as [NodeId, NodeId];
  trace.note("Round 1 had a held-out loss of 3. The first validator finds 9 for round 2, so a second one is asked.");
  evaluate(hub, [first], () => 9);
  trace.note("It finds the same. The run goes back to the parameters of round 1, from which round 3 begins.");
  evaluate(hub, [second], () => 9);
  trace.note("Both miners load them, and the lost step is repeated.");
  for (const node of nodes) hub.load(node);
  trace.note("The checkpoint of round 3 has the good parameters.");
  store(hub);
  assertTrace("loss_jump", trace);
});

Deno.test("Trace: two miners are drawn to open a step; one does, and the other forfeits its pay in escrow", () => {
  const { hub, nodes: [honest, silent] } = drawn({ microbatchesPerStep: 2 });
  const nodes = [honest, silent];
  const judge = nodeId("judge");
  rounds(hub, nodes, 2);
  const step = train(hub, nodes);
  answerAll(hub, judge);
  const trace = new Trace(hub);
  trace.note(
    "Step 5 is over, and both miners are drawn. miner-0 uploads its parameters as a change of the round's start.",
  );
  show(hub, honest, step);
  trace.note(
    "The steps of the round can lead that far. A validator repeats the task of miner-0 with these parameters.",
  );
  check(hub, honest, fineWay);
  trace.note("miner-1 is silent. Round 2 is merged, and round 3 is trained and almost merged (left out here).");
  trace.pause();
  merge(hub, nodes);
  train(hub, nodes);
  merge(hub, nodes, () => {
    trace.resume();
    trace.note("The next merge is the deadline: miner-1 forfeits all pay in escrow, and validators are told.");
  });
  assertTrace("opened_parameters", trace);
});

function answerAll(hub: ScriptedOrchestrator, judge: NodeId): void {
  for (let isBusy = true; isBusy;) {
    isBusy = evaluate(hub, [judge], () => 4).size > 0;
    if (!hub.inbox(judge).some(({ type }) => type === "replay")) continue;
    isBusy = true;
    const { request } = hub.take(judge, "replay");
    hub.tell(judge, { type: "replayed", request, ...fine, signature: "" });
  }
}

Deno.test("Trace: the arbiter refutes a validator's accusations, and the third one is its last", () => {
  const { hub, nodes, judges: [liar] } = tracedSwarm(2, {
    validate: { replaysPerMiner: 1 },
    swarm: { validators: 1 },
  });
  evaluate(hub, [liar!], () => 4);
  closeStep(hub, nodes);
  const trace = new Trace(hub);
  for (
    const note of [
      "The validator calls a right result wrong. The arbiter repeats the task: the accusation is a proven fault.",
      "A second accusation of another miner is refuted as well. Both miners keep their places.",
      "With the third proven fault the validator is banned.",
    ]
  ) {
    trace.note(note);
    const { request } = hub.take(liar!, "replay");
    hub.tell(liar!, { type: "replayed", request, ...wrong, signature: "" });
    const { task } = hub.effects.findLast((effect) => effect.type === "refereeTask")!;
    hub.step({ type: "taskRefereed", task, found: fine, detail: "" });
  }
  assertTrace("false_accusations", trace);
});
