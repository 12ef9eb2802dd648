/** Traces of audits: a false result, and a model that became worse. The files in traces/ are for reading. */

import type { NodeId } from "../../core/ids.ts";
import { evaluate } from "../support/swarm/scripted_rounds.ts";
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
  trace.note("That of head-b is far off. An accusation is no proof: head-b stays, and the arbiter repeats the task.");
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
