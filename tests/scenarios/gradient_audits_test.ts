/** Gradients that validators recompute: what they are asked, what a false norm costs whom, and which ones are not asked for. */

import { changeBytes } from "../../core/update/shown_change.ts";
import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { chanceInRound, shareOfStep } from "../../core/orchestrator/audit/gradient_audits.ts";
import { chanceToShow } from "../../core/orchestrator/audit/drawn_miners.ts";
import type { GradientReplay } from "../../core/orchestrator/audit/audit_state.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import type { TinyOverrides } from "../support/tiny_model.ts";

const always = { gradientsPerRound: 1000, statesPerRound: 0, replaysPerMiner: 0, tolerance: 0.05 };

/** Two stages, of two replicas unless given, and two validators; every gradient is drawn. */
function swarm({ replicas = 2, microbatchesPerStep = 4 * replicas, validate = {}, limits = {} }: {
  replicas?: number;
  microbatchesPerStep?: number;
  validate?: TinyOverrides["validate"];
  limits?: TinyOverrides["limits"];
} = {}) {
  const hub = new ScriptedOrchestrator({
    validate: { ...always, ...validate },
    train: { microbatchesPerStep, steps: 9, stepsPerRound: 3 },
    swarm: { replicas, validators: 2 },
    limits: { leaseMs: 600_000, mergePhaseMs: 600_000, ...limits },
  });
  const judges = [hub.validator("validator-0"), hub.validator("validator-1")] as const;
  const nodes = Array.from({ length: 2 * replicas }, (_, i) => hub.ready(`miner-${i}`));
  for (const judge of judges) {
    const { request } = hub.take(judge, "evaluate");
    hub.tell(judge, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
  }
  return { hub, judges, nodes };
}

function trainStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

const isAsked = (hub: ScriptedOrchestrator, judge: NodeId) =>
  hub.inbox(judge).some(({ type }) => type === "repeatGradient");

/** Answers every part of one gradient; `squareOf` says what the validator finds. Returns the parts. */
function repeat(hub: ScriptedOrchestrator, judge: NodeId, squareOf: (miner: NodeId) => number) {
  const parts = [];
  for (;;) {
    const part = hub.take(judge, "repeatGradient");
    parts.push(part);
    hub.tell(judge, {
      type: "gradientRepeated",
      request: part.request,
      squareSum: part.isLast ? squareOf(part.miner) : null,
      signature: part.isLast ? "" : null,
    });
    if (part.isLast) return { parts, miner: part.miner, request: part.request };
  }
}

/** Until this validator has said that a gradient is not what was committed; all others are (ScriptedOrchestrator.seal). */
function accuse(hub: ScriptedOrchestrator, judge: NodeId, squareSum: number): NodeId {
  let accused: NodeId | null = null;
  while (accused === null) repeat(hub, judge, (miner) => (accused = miner, squareSum));
  return accused;
}

const waiting = (hub: ScriptedOrchestrator): GradientReplay[] =>
  [
    ...[...hub.state.audit.queue.groups.values()].flatMap(({ requests }) => requests.map(({ request }) => request)),
    ...[...hub.state.audit.running.values()].map(({ request }) => request),
  ].flatMap((request) => request.type === "gradient" ? [request.replay] : []);

const verdicts = (hub: ScriptedOrchestrator) =>
  hub.records.filter((record): record is Extract<RunRecord, { type: "verdict" }> => record.type === "verdict");

const refereed = (hub: ScriptedOrchestrator) => hub.effects.filter((effect) => effect.type === "refereeGradient");

function rule(hub: ScriptedOrchestrator, squareSum: number | null): void {
  const { task } = refereed(hub).at(-1)!;
  hub.step({ type: "gradientRefereed", task, squareSum, detail: "no room" });
}

Deno.test("Gradient audits: exactly the committed tasks, in order, and the claim only after the answer", () => {
  const { hub, judges: [judge], nodes } = swarm();
  hub.work(nodes);
  const confirmed = new Map([...hub.state.work!.contributors].map((node) => [node, hub.seal(node)]));
  assertEquals(waiting(hub).map(({ miner }) => miner).toSorted(), [...confirmed.keys()].toSorted());
  for (const { miner, task, tasks, squareSum, change } of waiting(hub)) {
    const ids = confirmed.get(miner)!;
    assertEquals([task, tasks.length, squareSum, change], [ids[0], ids.length, 1, null]);
    const microbatches = ids.map((id) => Number(id.split(".")[0]!.replace(/\D/g, "")));
    assertEquals(tasks.map(({ microbatch }) => Number(microbatch)), microbatches);
  }
  assertEquals(hub.inbox(judge).some(({ type }) => type === "gradientClaimed"), false);
  const { request, miner } = repeat(hub, judge, () => 1.001);
  const { request: told, claimed } = hub.take(judge, "gradientClaimed");
  assertEquals([told, claimed], [request, 1]);
  const [verdict] = verdicts(hub);
  assertEquals([verdict?.miner, verdict?.passed, verdict?.gradient?.found], [miner, true, 1.001]);
  assertEquals(refereed(hub).length, 0);
});

Deno.test("Gradient audits: more tasks than a message holds come in parts, the next after an answer", () => {
  const { hub, judges: [judge], nodes } = swarm({ microbatchesPerStep: 40 });
  trainStep(hub, nodes);
  const { parts } = repeat(hub, judge, () => 1);
  assert(parts.length > 2, `${parts.length} parts`);
  assertEquals(parts.map(({ first }) => first), parts.map((_, i) => 8 * i));
  assertEquals(parts.map(({ isLast }) => isLast), parts.map((_, i) => i === parts.length - 1));
  assertEquals(new Set(parts.map(({ miner, task }) => `${miner} ${task}`)).size, 1);
  assertEquals(verdicts(hub).length, 1);
});

Deno.test("Gradient audits: a part holds no more than a frame", () => {
  const { hub, judges: [judge], nodes } = swarm({ limits: { frameBytes: 72 * 1024, headerBytes: 64 * 1024 } });
  trainStep(hub, nodes);
  const { parts } = repeat(hub, judge, () => 1);
  assert(parts.length > 1 && parts[1]!.first < 8, JSON.stringify(parts.map(({ first }) => first)));
});

Deno.test("Gradient audits: a false norm is repeated by a second validator and the orchestrator, which alone bans", () => {
  const { hub, judges: [first, second], nodes } = swarm();
  trainStep(hub, nodes);
  const liar = accuse(hub, first, 1e-6);
  assertEquals([hub.state.members.has(liar), refereed(hub).length], [true, 1], "a validator's word is not proof");
  while (isAsked(hub, second)) repeat(hub, second, (miner) => miner === liar ? 1e-6 : 1);
  assertEquals(verdicts(hub).filter(({ miner, passed }) => miner === liar && !passed).length, 2);
  assertEquals([hub.state.members.has(liar), refereed(hub).length], [true, 1], "nor are two");
  rule(hub, 1e-6);
  assertEquals([hub.state.expelled.has(liar), hub.state.members.has(liar)], [true, false]);
  assertEquals([hub.count("mergeRetaken"), hub.state.step], [0, 1], "it spoils no wires");
  for (const node of nodes) assertEquals(hub.state.expelled.has(node), node === liar);
});

Deno.test("Gradient audits: a validator that says so falsely is blamed, and leaves after the third time", () => {
  const { hub, judges: [liar, honest], nodes } = swarm();
  trainStep(hub, nodes);
  for (let i = 1; i <= 3; i++) {
    if (!isAsked(hub, liar)) trainStep(hub, nodes);
    accuse(hub, liar, 1000);
    rule(hub, 1);
    assertEquals([hub.count("blamed"), hub.state.members.has(liar)], [i, i < 3]);
  }
  assert([...nodes, honest].every((node) => hub.state.members.has(node)), "nobody else leaves");
});

Deno.test("Gradient audits: what the orchestrator cannot repeat, or finds within rounding of nothing, costs nobody anything", () => {
  for (const squareSum of [null, 1.008]) {
    const { hub, judges: [judge], nodes } = swarm();
    trainStep(hub, nodes);
    const miner = accuse(hub, judge, 1.02);
    rule(hub, squareSum);
    assertEquals([hub.state.members.has(miner), hub.count("blamed")], [true, 0]);
  }
});

Deno.test("Gradient audits: an unfinished answer, or one to something else, goes to another validator", () => {
  const { hub, judges: [judge, other], nodes } = swarm({ microbatchesPerStep: 40 });
  trainStep(hub, nodes);
  const { request, miner } = hub.take(judge, "repeatGradient");
  hub.tell(judge, { type: "gradientRepeated", request, squareSum: 1e9, signature: "" }); // it has seen a third of the tasks
  assertEquals([verdicts(hub).length, hub.state.members.has(miner)], [0, true]);
  const seen: NodeId[] = [];
  while (isAsked(hub, other)) seen.push(repeat(hub, other, () => 1).miner);
  assert(seen.includes(miner), "the other one repeats it");
  assertEquals(hub.take(judge, "reject").fault.code, "wrongPhase");
});

Deno.test("Gradient audits: a validator lost in the middle is followed by one that begins anew", () => {
  const { hub, judges: [judge, other], nodes } = swarm({ microbatchesPerStep: 40 });
  trainStep(hub, nodes);
  const { request, miner } = hub.take(judge, "repeatGradient");
  hub.tell(judge, { type: "gradientRepeated", request, squareSum: null, signature: "" });
  assertEquals(hub.take(judge, "repeatGradient").first, 8);
  hub.tell(judge, { type: "leaving", reason: "bye" });
  const firsts: number[] = [];
  while (isAsked(hub, other)) {
    const done = repeat(hub, other, () => 1);
    if (done.miner === miner) firsts.push(done.parts[0]!.first);
  }
  assertEquals(firsts, [0]);
});

Deno.test("Gradient audits: a member that left before its step closed is not asked about, whether or not it comes back", () => {
  const { hub, nodes } = swarm();
  hub.work(nodes);
  const gone = [...hub.state.work!.contributors].find((node) => hub.state.members.get(node)!.stage === 0)!;
  hub.seal(gone);
  hub.tell(gone, { type: "leaving", reason: "bye" });
  hub.inbox(gone).length = 0;
  hub.ready(gone);
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  assertEquals(hub.state.step, 1);
  const left = hub.records.filter((record) => record.type === "nodeLost");
  assertEquals(left.map(({ node, tasksKept }) => [node, tasksKept > 0]), [[gone, true]], "its tasks counted");
  const asked = waiting(hub);
  assert(
    asked.length > 0 && asked.every(({ miner }) => miner !== gone),
    JSON.stringify(asked.map(({ miner }) => miner)),
  );
});

Deno.test("Gradient audits: gradients whose wires were lost, before or after they were drawn, are not asked for", () => {
  const { hub, nodes } = swarm();
  hub.work(nodes, { until: () => hub.state.work!.credited.size === 1 });
  const flow = hub.state.work!.flows.find(({ items }) =>
    items.some(({ status, direction }) => status === "done" && direction !== "forward")
  )!;
  const doer = flow.items.find(({ status, direction }) => status === "done" && direction !== "forward")!.doneBy;
  hub.step({ type: "restarted", lost: flow.wires.filter((ref) => ref !== null) });
  const step = hub.state.step;
  for (const node of [...nodes]) {
    const { stage, assignment, stepTasks } = hub.state.members.get(node)!;
    hub.inbox(node).length = 0;
    hub.step({ type: "nodeConnected", node, role: "miner", resumed: false });
    const holding = { assignment, round: 0, step: null, tasks: [...stepTasks] };
    hub.tell(node, {
      type: "join",
      role: "miner",
      adapter: "test",
      previousStage: stage,
      holding,
      listens: null,
    });
  }
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
  assertEquals(hub.state.step, step + 1);
  const asked = waiting(hub);
  assert(asked.length > 0 && asked.every(({ miner }) => miner !== doer), "the wire may have been made by another");
  const lost = asked[0]!.tasks.flatMap(({ gradient, input }) => gradient ?? input ?? []);
  hub.step({ type: "restarted", lost });
  const needed = new Set(lost.map(({ hash }) => hash));
  const uses = (replay: GradientReplay) =>
    replay.tasks.some(({ input, gradient }) => needed.has(input?.hash as never) || needed.has(gradient?.hash as never));
  assertEquals(waiting(hub).filter(uses).length, 0);
  assertEquals([hub.count("blamed"), hub.state.expelled.size], [0, 0]);
});

Deno.test("Gradient audits: of a later step with the parameters that its miner showed", () => {
  const validate = { statesPerRound: 1000, replaysPerMiner: 1 };
  const { hub, nodes } = swarm({ validate });
  trainStep(hub, nodes);
  const before = new Set(waiting(hub));
  trainStep(hub, nodes);
  assertEquals(waiting(hub).filter((replay) => !before.has(replay)).length, 0, "not without the parameters");
  const shown = nodes.find((node) => hub.state.audit.awaited.get(node)?.some(({ gradient }) => gradient !== null))!;
  const { stage } = hub.state.members.get(shown)!;
  const change = hub.blob(changeBytes(hub.state.stageFloats[stage!]!));
  hub.tell(shown, { type: "stateShown", round: 0, step: 1, change });
  const fine = { isFinite: true, squareSum: 1e-9, largest: 1e-9 };
  hub.step({ type: "stateChecked", round: 0, step: 1, node: shown, way: fine, sketch: null });
  const [replay] = waiting(hub).filter((each) => each.miner === shown && each.step === 1);
  assertEquals(replay?.change, change);
});

Deno.test("Gradient audits: none where the setting is 0", () => {
  const { hub, nodes } = swarm({ validate: { gradientsPerRound: 0 } });
  trainStep(hub, nodes);
  assertEquals(waiting(hub), []);
});

Deno.test("Gradient audits: a miner's turn comes on average as often as is set, and never much later", () => {
  for (const gradientsPerRound of [0.1, 0.25, 0.5]) {
    let [waited, isWaiting, longest] = [0, 1, 0]; // rounds, chance to wait longer
    for (let round = 1; isWaiting > 1e-3; round++) {
      waited += isWaiting;
      isWaiting *= 1 - chanceInRound({ gradientsPerRound, round, last: 0 });
      longest = round;
    }
    assert(waited * gradientsPerRound > 0.93 && waited * gradientsPerRound < 1.06, `${waited} rounds`);
    assert(longest * gradientsPerRound < 3.7, `${longest} rounds`); // one in a thousand
  }
  assertEquals(chanceInRound({ gradientsPerRound: 0.25, round: 9, last: null }), 0.25, "of a newcomer");
});

Deno.test("Gradient audits: each step of a round has the same chance, however rarely it is audited", () => {
  for (const statesPerRound of [1, 0.9, 1000]) {
    const { hub: { state } } = swarm({ validate: { statesPerRound } });
    const chances = [0, 1, 2].map((step) => {
      state.step = step;
      return shareOfStep(state) * (step === 0 ? 1 : Math.min(1, chanceToShow(state)));
    });
    for (const chance of chances) assert(Math.abs(chance - 1 / 3) < 1e-12, `${statesPerRound}: ${chances}`);
  }
  assertEquals(shareOfStep(swarm().hub.state), 1, "where only first steps are audited");
});

Deno.test("Gradient audits: whose gradient is being repeated in this round is not drawn again in it, and later more and more", () => {
  const { hub, nodes } = swarm({ validate: { gradientsPerRound: 0.99, statesPerRound: 1000, replaysPerMiner: 1 } });
  hub.state.audit.recomputed.clear();
  for (const node of nodes) hub.state.audit.recomputed.set(node, -4); // long ago
  trainStep(hub, nodes);
  const drawn = new Set(waiting(hub).map(({ miner }) => miner));
  for (const node of nodes) assertEquals(hub.state.audit.recomputed.get(node), drawn.has(node) ? 0 : -4);
  trainStep(hub, nodes);
  const again = [...hub.state.audit.awaited].flatMap(([node, states]) =>
    states.some(({ gradient }) => gradient !== null) && drawn.has(node) ? [node] : []
  );
  assertEquals(again, []);
});

Deno.test("Gradient audits: a norm unlike its peers' has the gradient repeated at once", () => {
  const neverByChance = { gradientsPerRound: 1e-9, statesPerRound: 0, replaysPerMiner: 0 };
  for (const [factor, isOdd] of [[1e6, true], [1 / 16, true], [0, true], [2, false], [1 / 2, false]] as const) {
    const { hub, nodes } = swarm({ replicas: 3, validate: neverByChance });
    hub.work(nodes);
    const [liar] = nodes as [NodeId];
    for (const node of [...hub.state.work!.contributors]) hub.seal(node, node === liar ? factor : 1);
    assertEquals(waiting(hub).map(({ miner }) => miner), isOdd ? [liar] : [], `${factor} times`);
  }
});

Deno.test("Gradient audits: of two replicas whose norms differ both are repeated, as either may be wrong", () => {
  const { hub, nodes } = swarm({ validate: { gradientsPerRound: 1e-9, statesPerRound: 0, replaysPerMiner: 0 } });
  hub.work(nodes);
  const [liar] = nodes as [NodeId];
  for (const node of [...hub.state.work!.contributors]) hub.seal(node, node === liar ? 1 / 16 : 1);
  const { stage } = hub.state.members.get(liar)!;
  assertEquals(waiting(hub).map((replay) => replay.stage), [stage, stage]);
});
