/** Validators that are silent, that lie about the held-out loss, and a merge that made the model much worse. */

import { assertEquals } from "@std/assert";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { commit } from "../support/swarm/scripted_merge.ts";
import { evaluate, trainRound } from "../support/swarm/scripted_rounds.ts";

const mergePhaseMs = 60_000;

/** One stage of two replicas, a merge after every step, and these validators. */
function watched(validators: number, { joined = validators }: { joined?: number } = {}) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    validate: { replaysPerMiner: 0 },
    train: { microbatchesPerStep: 4, steps: 100, stepsPerRound: 1 },
    swarm: { replicas: 2, validators },
    limits: { mergePhaseMs, mergeGraceMs: 5_000, leaseMs: 600_000 },
  });
  const judges = Array.from({ length: joined }, (_, i) => hub.validator(`validator-${i}`));
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")];
  return { hub, judges, nodes };
}

const warnings = (hub: ScriptedOrchestrator): string[] =>
  hub.records.flatMap((record) => record.type === "warning" ? [record.text] : []);

Deno.test("Evaluations: two validators say the same, and that is the round's loss", () => {
  const { hub, judges } = watched(2);
  evaluate(hub, judges, () => 5);
  assertEquals([hub.state.facts.heldOutLast, hub.count("evaluated")], [{ round: 0, loss: 5 }, 2]);
});

Deno.test("Evaluations: of two that disagree neither is believed, and both are said", () => {
  const { hub, judges } = watched(2);
  evaluate(hub, judges, (judge) => judge === judges[0] ? 0.001 : 5);
  const { heldOutLast, heldOutDisputed } = hub.state.facts;
  assertEquals([heldOutLast, heldOutDisputed?.answers.map(({ loss }) => loss).toSorted()], [null, [0.001, 5]]);
  assertEquals(warnings(hub).filter((text) => text.includes("disagree")).length, 1);
});

Deno.test("Evaluations: a third validator settles it, and who said something else is named", () => {
  const { hub, judges } = watched(3);
  evaluate(hub, judges, (judge) => judge === judges[0] ? 0.001 : 5);
  assertEquals(hub.state.facts.heldOutLast, { round: 0, loss: 5 });
  const named = hub.records.flatMap((record) => record.type === "faultSeen" ? [record.node] : []);
  assertEquals(named, [judges[0]!]);
});

Deno.test("Audits: a silent validator's request goes to another after a deadline, and it is not asked again before the others", () => {
  const { hub, judges: [silent, honest] } = watched(2);
  evaluate(hub, [honest!], () => 5);
  assertEquals(hub.state.facts.heldOutLast, null, "the silent one was asked too");
  hub.wait(mergePhaseMs);
  evaluate(hub, [honest!], () => 5);
  assertEquals(hub.state.facts.heldOutLast, { round: 0, loss: 5 });
  assertEquals([hub.state.audit.silent.has(silent!), hub.state.audit.running.size], [true, 0]);
});

Deno.test("Audits: one late answer does not stretch the deadlines for good", () => {
  const { hub, judges, nodes } = watched(2);
  const [slow] = judges as [NodeId];
  const { request } = hub.take(slow, "evaluate");
  hub.nowMs += 50_000;
  hub.tell(slow, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
  const isLateAfter = (waitMs: number) => {
    trainRound(hub, nodes);
    const before = hub.count("faultSeen");
    hub.wait(waitMs);
    const isLate = hub.count("faultSeen") > before;
    evaluate(hub, judges, () => 5);
    return isLate;
  };
  evaluate(hub, judges, () => 5);
  assertEquals(isLateAfter(30_000), false);
  for (let round = 0; round < 40; round++) {
    trainRound(hub, nodes);
    evaluate(hub, judges, () => 5);
  }
  assertEquals(isLateAfter(10_001), true);
});

Deno.test("Audits: thirty silent validators do not swallow what one honest one can answer", () => {
  const { hub, judges, nodes } = watched(30);
  const honest = hub.validator("honest");
  for (let round = 1; round <= 6; round++) {
    trainRound(hub, nodes);
    for (let i = 0; i < 4; i++) {
      evaluate(hub, [honest], () => 5);
      hub.wait(2 * mergePhaseMs / 4);
    }
  }
  const answered = hub.records.flatMap((record) => record.type === "evaluated" ? [record.round] : []);
  assertEquals(answered.includes(5) || answered.includes(6), true, `${answered}`);
  assertEquals(judges.every((judge) => hub.inbox(judge).filter(({ type }) => type === "evaluate").length <= 1), true);
});

Deno.test("Merge: a jump of the held-out loss that two validators find is taken back to the last good round, once", () => {
  const { hub, judges, nodes } = watched(2);
  evaluate(hub, judges, () => 5);
  trainRound(hub, nodes);
  evaluate(hub, judges, () => 4.5);
  const good = hub.state.sources.stages;
  trainRound(hub, nodes);
  assertEquals([hub.state.round, hub.state.step], [2, 2]);
  hub.state.reloads.set(hub.state.stages[0]!.index, 2);
  hub.state.claims.set(nodes[0]!, 3);
  hub.state.unpaid.add(nodes[0]!);
  evaluate(hub, judges, () => 9);
  assertEquals([hub.state.round, hub.state.step, hub.count("mergeRetaken")], [3, 1, 1]);
  const { reloads, claims, unpaid } = hub.state;
  assertEquals([reloads.size, claims.size, unpaid.size], [0, 0, 0], "what was counted in the abandoned round");
  assertEquals(hub.state.sources, { round: 3, stages: good });
  hub.step({ type: "checkpointWritten", round: 3, folder: "" });
  for (const node of nodes) {
    assertEquals(hub.take(node, "assign").source, good[0]!);
    const { assignment } = hub.state.members.get(node)!;
    const parameters = good[0]!.type === "blobs" ? good[0]!.parameters : hub.blob(64);
    hub.tell(node, { type: "ready", assignment, parameters });
  }
  trainRound(hub, nodes);
  evaluate(hub, judges, () => 9);
  assertEquals(
    [hub.state.round, hub.state.step, hub.count("mergeRetaken")],
    [4, 2, 1],
    "the second time it is the training",
  );
  assertEquals(warnings(hub).some((text) => text.includes("did not help")), true);
});

Deno.test("Evaluations: two that find a jump which training does not are called disputed with the third, and the run goes on", () => {
  const { hub, judges, nodes } = watched(3);
  evaluate(hub, judges, () => 2);
  for (let round = 1; round <= 3; round++) {
    trainRound(hub, nodes); // with losses of 2
    evaluate(hub, judges, (judge) => judge === judges[2] ? 2 : 10 ** round);
  }
  trainRound(hub, nodes);
  const named = judges.filter((judge) =>
    hub.records.some((record) => record.type === "faultSeen" && record.node === judge)
  );
  assertEquals([hub.count("mergeRetaken"), named, hub.state.round], [0, [], 4]);
  assertEquals([hub.state.facts.heldOutLast, hub.state.facts.heldOutDisputed?.round], [{ round: 0, loss: 2 }, 3]);
});

Deno.test("Evaluations: a jump that one of three denies counts when the round's first step has found it too", () => {
  const { hub, judges, nodes } = watched(3);
  evaluate(hub, judges, () => 2);
  trainRound(hub, nodes);
  hub.loss = 8;
  evaluate(hub, judges, (judge) => judge === judges[0] ? 2 : 9);
  assertEquals(hub.count("mergeRetaken"), 0, "one word more is needed");
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  hub.step({ type: "tick" });
  assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, 0]);
});

Deno.test("Evaluations: that nothing finite comes out of a round is a finding, and sends the run back", () => {
  const { hub, judges, nodes } = watched(2);
  evaluate(hub, judges, () => 2);
  trainRound(hub, nodes);
  for (const judge of judges.toSorted((a) => hub.inbox(a).some(({ type }) => type === "evaluate") ? -1 : 1)) {
    const { request } = hub.take(judge, "evaluate");
    hub.tell(judge, { type: "evaluated", request, loss: null, tokens: 64, signature: "" });
  }
  assertEquals([hub.count("mergeRetaken"), hub.count("faultSeen"), hub.state.step], [1, 0, 0]);
  assertEquals(hub.state.facts.heldOutLast, { round: 0, loss: 2 });
});

Deno.test("Merge: validators that find a jump in every round send the run back once", () => {
  const { hub, judges, nodes } = watched(2);
  let loss = 2;
  evaluate(hub, judges, () => loss);
  for (let round = 0; round < 6; round++) {
    trainRound(hub, nodes);
    loss *= 4;
    evaluate(hub, judges, () => loss);
    if (hub.state.upload !== null) hub.step({ type: "checkpointWritten", round: hub.state.round, folder: "" });
    for (const node of nodes) if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  }
  assertEquals([hub.count("mergeRetaken"), hub.state.step], [1, 5]);
});

Deno.test("Merge: one validator alone cannot send the run back", () => {
  const { hub, judges, nodes } = watched(1);
  evaluate(hub, judges, () => 5);
  trainRound(hub, nodes);
  evaluate(hub, judges, () => 9);
  assertEquals([hub.state.round, hub.count("mergeRetaken")], [1, 0]);
  assertEquals(warnings(hub).some((text) => text.includes("only one validator says so")), true);
});

Deno.test("Merge: who commits and never stores is left out, costs the stage one deadline, and has half the round's pay", () => {
  const { hub, nodes: [withholder, honest] } = watched(1);
  const stage = stageIndex(0);
  const payOf = (node: NodeId) => hub.state.reports.at(-1)!.units.get(node) ?? 0;
  const took: number[] = [];
  hub.statsOf = (node) => node === withholder ? null : { isFinite: true, squareSum: 1e-12, largest: 1e-9 };
  for (let round = 0; round < 2; round++) {
    hub.work([withholder!, honest!]);
    for (const node of [withholder!, honest!]) hub.seal(node);
    const startedMs = hub.nowMs;
    commit(hub, honest!);
    while (hub.state.merge?.stages[0]?.phase === "committing") {
      if (hub.inbox(withholder!).some(({ type }) => type === "startMerge")) commit(hub, withholder!);
      else hub.wait(1000);
    }
    took.push(hub.nowMs - startedMs);
    const parameters = hub.blob(64);
    const next = hub.state.round + 1;
    for (const node of [withholder!, honest!]) {
      hub.tell(node, { type: "mergeApplied", round: next, parameters, momentum: null });
    }
    const uploader = hub.state.upload?.stages[stage]?.asked as NodeId;
    hub.tell(uploader, { type: "parametersUploaded", round: next, parameters, momentum: null });
    hub.step({ type: "checkpointWritten", round: next, folder: "" });
  }
  assertEquals(took, [0, 0], "the orchestrator sees at once that nothing is stored");
  assertEquals(payOf(withholder!) < payOf(honest!), true);
  assertEquals(hub.count("mergeLate"), 2);
});

Deno.test("Audits: that no validator has joined is said once", () => {
  const { hub, nodes } = watched(1, { joined: 0 });
  const said = () => warnings(hub).filter((text) => text.includes("dropped")).length;
  for (let round = 0; round < 5; round++) trainRound(hub, nodes);
  assertEquals(said(), 1);
  assertEquals(/\d+ old audits? dropped: no validator; start one: iota validate/.test(warnings(hub).join()), true);
});
