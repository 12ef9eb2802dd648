/** Tasks that a validator found wrong and the orchestrator repeats: who leaves, who is blamed, and which round begins anew. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { dropReplays } from "../../core/orchestrator/audit/auditing.ts";
import type { OrchestratorEffect } from "../../core/orchestrator/event.ts";
import type { RefereedRepetition } from "../../core/score/verdict.ts";
import { commit } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

type RefereeTask = Extract<OrchestratorEffect, { type: "refereeTask" }>;

const right: RefereedRepetition = {
  rounding: 0,
  beyondRounding: 0,
  innovationError: 1e-6,
  equalShare: 0.9,
  lossError: null,
};
const wrong: RefereedRepetition = {
  rounding: 0,
  beyondRounding: 2,
  innovationError: 2,
  equalShare: 0,
  lossError: null,
};

/** Two stages of two replicas and two validators; the first of three steps of the round is closed. */
function audited({ replaysPerMiner = 1, microbatchesPerStep = 8 } = {}) {
  const hub = new ScriptedOrchestrator({
    validate: { replaysPerMiner },
    train: { microbatchesPerStep, steps: 9, stepsPerRound: 3 },
    swarm: { replicas: 2, validators: 2 },
    limits: { leaseMs: 600_000, mergePhaseMs: 600_000 },
  });
  const judges = [hub.validator("validator-0"), hub.validator("validator-1")];
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  for (const judge of judges) {
    const { request } = hub.take(judge, "evaluate");
    hub.tell(judge, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
  }
  trainStep(hub, nodes);
  return { hub, judges, nodes };
}

function trainStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

/** The validator answers its requests until it has accused a miner; whoever is not to be accused passes. */
function accuse(
  hub: ScriptedOrchestrator,
  judge: NodeId,
  isLiar: (miner: NodeId, round: number) => boolean = () => true,
): NodeId {
  for (;;) {
    const evaluation = hub.inbox(judge).find((message) => message.type === "evaluate");
    if (evaluation !== undefined) {
      const { request } = hub.take(judge, "evaluate");
      hub.tell(judge, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
      continue;
    }
    const { request, miner, round } = hub.take(judge, "replay");
    const isIt = isLiar(miner, round);
    hub.tell(judge, { type: "replayed", request, ...(isIt ? wrong : right), signature: "" });
    if (isIt) return miner;
  }
}

const asked = (hub: ScriptedOrchestrator): RefereeTask[] =>
  hub.effects.filter((effect): effect is RefereeTask => effect.type === "refereeTask");

function answer(hub: ScriptedOrchestrator, found: RefereedRepetition | null, detail = ""): void {
  const { task } = asked(hub).at(-1)!;
  hub.step({ type: "taskRefereed", task, found, detail });
}

const minerOf = ({ state }: ScriptedOrchestrator, { task }: RefereeTask): NodeId | undefined =>
  state.audit.refereed.get(task)?.replay.miner;

const texts = (hub: ScriptedOrchestrator): string =>
  hub.records.flatMap((record) => record.type === "warning" ? [record.text] : []).join("\n");

Deno.test("Arbiter: leaving before the orchestrator has repeated the task, and coming back, spares no false accuser", () => {
  const { hub, judges: [liar, honest], nodes } = audited();
  for (let i = 1; i <= 3; i++) {
    accuse(hub, liar!);
    hub.tell(liar!, { type: "leaving", reason: "bye" });
    hub.inbox(liar!).length = 0; // its open requests go to others
    answer(hub, right);
    assertEquals([hub.count("blamed"), hub.state.expelled.has(liar!)], [i, i === 3]);
    hub.validator(liar!);
  }
  assert(!hub.state.members.has(liar!), "the last time it is refused");
  assert([...nodes, honest!].every((node) => hub.state.members.has(node)), "nobody else leaves");
});

Deno.test("Arbiter: an error that rounding might explain, or a task the orchestrator cannot repeat, costs nobody anything", () => {
  for (const found of [{ ...wrong, innovationError: 0.3, beyondRounding: 0.04, rounding: 0.26 }, null]) {
    const { hub, judges } = audited();
    const miner = accuse(hub, judges[0]!);
    answer(hub, found, "no room");
    assertEquals([hub.state.members.has(miner), hub.count("blamed"), hub.state.step], [true, 0, 1]);
    assertEquals(texts(hub).includes("no room"), found === null);
  }
});

Deno.test("Arbiter: made-up losses ban, but spoil no round", () => {
  const { hub, judges } = audited();
  const miner = accuse(hub, judges[0]!);
  answer(hub, { ...right, lossError: 3 });
  assertEquals([hub.state.members.has(miner), hub.count("mergeRetaken"), hub.state.round], [false, 0, 0]);
});

Deno.test("Arbiter: one task after another, and none of a miner that has gone", () => {
  const { hub, judges: [first, second] } = audited({ microbatchesPerStep: 2 }); // so one of a head's is repeated as well
  const liar = accuse(hub, first!);
  accuse(hub, second!, (miner) => miner !== liar);
  assertEquals([asked(hub).length, hub.state.audit.refereed.size], [1, 2]);
  accuse(hub, second!, (miner) => miner === liar); // the same task: no second repetition
  assertEquals([asked(hub).length, hub.state.audit.refereed.size], [1, 2]);
  answer(hub, wrong);
  assertEquals(asked(hub).length, 2, "then the other one");
  answer(hub, right);
  assertEquals([asked(hub).length, hub.state.audit.refereed.size], [2, 0]);
});

Deno.test("Arbiter: a restarted orchestrator repeats the task again", () => {
  const { hub, judges } = audited();
  const miner = accuse(hub, judges[0]!);
  hub.step({ type: "restarted" });
  assertEquals(asked(hub).length, 2);
  answer(hub, wrong);
  assertEquals(hub.state.expelled.has(miner), true);
});

Deno.test("Arbiter: whoever pays for ever more places cannot keep a round from merging", () => {
  const { hub, judges } = audited();
  let nodes = [...hub.state.members.values()].flatMap(({ node, role }) => role === "miner" ? [node] : []);
  const retaken: number[] = [];
  for (let i = 0; i < 4; i++) {
    const liar = accuse(hub, judges[0]!, (_, round) => round === hub.state.round);
    answer(hub, wrong);
    retaken.push(hub.count("mergeRetaken"));
    nodes = [...nodes.filter((node) => node !== liar), hub.join(`newcomer-${i}`)];
    for (const node of nodes) if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
    if (i < 3) trainStep(hub, nodes);
  }
  assertEquals(retaken, [1, 2, 3, 3]);
});

Deno.test("Arbiter: an error next to the tolerance, which a miner can choose, blames no validator", () => {
  const { tolerance } = audited().hub.state.config.validate;
  for (const innovationError of [0.999 * tolerance, 0.51 * tolerance]) {
    const { hub, judges: [judge] } = audited();
    const miner = accuse(hub, judge!);
    answer(hub, { ...right, innovationError });
    assertEquals([hub.state.members.has(miner), hub.count("blamed")], [true, 0]);
  }
  const { hub, judges: [judge] } = audited();
  accuse(hub, judge!);
  answer(hub, { ...right, innovationError: 0.49 * tolerance });
  assertEquals(hub.count("blamed"), 1);
});

Deno.test("Arbiter: a task that is dropped while the orchestrator repeats it holds up none of those behind it", () => {
  const { hub, judges: [first, second] } = audited();
  accuse(hub, first!);
  const [work] = asked(hub);
  accuse(hub, second!, (miner) => miner !== minerOf(hub, work!));
  assertEquals([asked(hub).length, hub.state.audit.refereed.size], [1, 2]);
  dropReplays(hub.state, { round: work!.round, stage: work!.stage }); // as when the stage's parameters are replaced
  const left = [...hub.state.audit.refereed.keys()];
  hub.step({ type: "taskRefereed", task: work!.task, found: right, detail: "" }); // nobody needs it any more
  assertEquals(asked(hub).slice(1).map(({ task }) => task), left);
  for (const _ of left) answer(hub, right);
  assertEquals(hub.state.audit.refereed.size, 0);
});

Deno.test("Arbiter: what a validator accused others of before it was banned is not repeated", () => {
  const { hub, judges: [liar] } = audited({ replaysPerMiner: 2 });
  for (let i = 0; i < 4; i++) accuse(hub, liar!);
  assertEquals(hub.state.audit.refereed.size, 4);
  for (let i = 0; i < 3; i++) answer(hub, right);
  assertEquals([hub.state.expelled.has(liar!), hub.state.audit.refereed.size, asked(hub).length], [true, 0, 3]);
});

Deno.test("Arbiter: what miners stored for a merge is deleted when the round begins anew, or it would fill their share", () => {
  const { hub, judges, nodes } = audited();
  for (let i = 0; i < 2; i++) trainStep(hub, nodes);
  assertEquals(hub.state.phase, "merging");
  for (const node of nodes) commit(hub, node);
  const stored = hub.state.merge!.stages.flatMap(({ payloads }) =>
    [...payloads.values()].flatMap(({ hashes }) => hashes)
  );
  accuse(hub, judges[0]!);
  answer(hub, wrong);
  assertEquals([hub.state.phase, hub.count("mergeRetaken")], ["training", 1]);
  const deleted = hub.effects.flatMap((effect) => effect.type === "deleteBlobs" ? effect.hashes : []);
  assert(stored.length >= nodes.length && stored.every((hash) => deleted.includes(hash)));
});
