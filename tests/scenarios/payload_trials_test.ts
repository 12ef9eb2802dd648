/** Payloads tried on held-out text: who is asked, what the answers mean for pay, and that the signed log follows. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { shareRecovery } from "../../core/score/payload_quality.ts";
import { takeEntry } from "../../core/ledger/ledger.ts";
import { openLedger } from "../../core/ledger/ledger_state.ts";
import type { MachineEntry, TriedEntry } from "../../core/ledger/entry.ts";
import { commit, reduceAll } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { tinyConfig } from "../support/tiny_model.ts";

/** One stage of three replicas; the first round is merged, and its payloads must be tried. */
function trying(validators: readonly string[], trialShare = 1000) {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    validate: { trialsPerRound: 1, trialShare, replaysPerMiner: 0, statesPerRound: 0, heldOutSequences: 4096 },
    train: { microbatchesPerStep: 6, steps: 120, stepsPerRound: 1 },
    swarm: { replicas: 3, validators: validators.length },
    limits: { mergePhaseMs: 600_000, mergeGraceMs: 5_000, leaseMs: 600_000 },
  });
  const judges = validators.map((name) => hub.validator(name));
  const nodes = [0, 1, 2].map((i) => hub.ready(`miner-${i}`));
  for (const judge of judges) answer(hub, judge, () => 5);
  round(hub, nodes);
  return { hub, judges, nodes };
}

function round(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  for (const node of nodes) hub.inbox(node).length = 0;
  const merged = { parameters: hub.blob(64), momentum: null };
  const next = hub.state.round + 1;
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round: next, ...merged });
  const { asked } = hub.state.upload!.stages[0]!;
  hub.tell(asked as NodeId, { type: "parametersUploaded", round: next, ...merged });
  hub.step({ type: "checkpointWritten", round: next, folder: "" });
}

/** Lays out every end; returns whose is whose, by the parameters' hash. */
function layOut(hub: ScriptedOrchestrator, lost: readonly NodeId[] = []): Map<string, NodeId> {
  const laid = new Map<string, NodeId>();
  for (const effect of hub.effects) {
    if (effect.type !== "layEnd" || effect.round !== hub.state.round - 1) continue;
    const { round, stage, node } = effect;
    const parameters = lost.includes(node) ? null : hub.blob(4 * hub.state.stageFloats[0]!);
    if (parameters !== null) laid.set(parameters.hash, node);
    hub.step({ type: "endLaid", round, stage, node, parameters });
  }
  return laid;
}

/** Answers everything that this validator is asked. */
function answer(hub: ScriptedOrchestrator, judge: NodeId, lossOf: (parameters: string | null) => number): void {
  for (;;) {
    const at = hub.inbox(judge).findIndex(({ type }) => type === "evaluate");
    if (at === -1) return;
    const [asked] = hub.inbox(judge).splice(at, 1);
    assert(asked?.type === "evaluate");
    const [source] = asked.sources;
    const parameters = asked.isTrial && source?.type === "blobs" ? source.parameters.hash : null;
    const loss = lossOf(parameters);
    const { request } = asked;
    const found = Number.isFinite(loss) ? loss : null;
    hub.tell(judge, { type: "evaluated", request, loss: found, tokens: 65_536, signature: "" });
  }
}

const unitsOf = (hub: ScriptedOrchestrator, node: NodeId) => hub.state.reports.at(-1)!.units.get(node) ?? 0;

Deno.test("Leave-one-in evaluation: a payload without gain is not paid from then on, until an evaluation says otherwise", () => {
  const { hub, judges: [judge], nodes: [idler, ...honest] } = trying(["judge"]);
  const first = layOut(hub);
  assertEquals(first.size, 3);
  answer(hub, judge!, (hash) => hash === null || first.get(hash) === idler ? 5 : 4.5);
  assertEquals([...hub.state.qualities], [[idler!, 0]]);
  round(hub, [idler!, ...honest]);
  assertEquals(unitsOf(hub, idler!), 0);
  assert(honest.every((node) => unitsOf(hub, node) > 0));
  layOut(hub);
  answer(hub, judge!, () => 4.5); // nobody gains anything, which says nothing of any of them
  assertEquals([...hub.state.qualities], [[idler!, shareRecovery]]);
  round(hub, [idler!, ...honest]);
  const second = layOut(hub);
  answer(hub, judge!, (hash) => hash !== null && second.has(hash) ? 4 : 4.5);
  assertEquals(hub.state.qualities.size, 0);
});

Deno.test("Leave-one-in evaluation: in a log of an earlier version an inconclusive evaluation restores full pay, in a new one it does not", () => {
  const { hub, judges: [judge], nodes: [idler, ...honest] } = trying(["judge"]);
  const first = layOut(hub);
  answer(hub, judge!, (hash) => hash === null || first.get(hash) === idler ? 5 : 4.5);
  round(hub, [idler!, ...honest]);
  layOut(hub);
  answer(hub, judge!, () => 4.5);
  const tried = hub.effects.flatMap((effect): MachineEntry[] =>
    effect.type === "log" && effect.entry.type === "tried" ? [effect.entry] : []
  );
  assertEquals(tried.length, 2);
  const qualitiesAfter = (entries: readonly MachineEntry[]) => {
    const ledger = openLedger();
    for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
    return [...ledger.qualities];
  };
  assertEquals(qualitiesAfter(tried), [[idler!, 0]]);
  assertEquals(
    qualitiesAfter(tried.map(({ keepsShares: _, ...entry }: MachineEntry & { keepsShares?: true }) => entry)),
    [],
  );
});

/** What a validator said of a payload, changed to the forged loss; its signature no longer fits. */
const lieOf = (node: NodeId | null) => (answer: object) => node === null ? answer : { ...answer, loss: 4.5 };

Deno.test("Leave-one-in evaluation: the log of a run with evaluations follows from its entries, and a changed loss does not", () => {
  const { hub, judges: [judge], nodes } = trying(["judge"]);
  const laid = layOut(hub);
  answer(hub, judge!, (hash) => hash === null ? 5 : laid.get(hash) === nodes[0] ? Infinity : 4.5);
  round(hub, nodes);
  const entries = hub.effects.flatMap((effect): MachineEntry[] => effect.type === "log" ? [effect.entry] : []);
  const tried = entries.findIndex(({ type }) => type === "tried");
  assert(tried !== -1, "the evaluation is in the log");
  const problems = (of: readonly MachineEntry[]) => {
    const ledger = openLedger();
    return of.flatMap((entry) => takeEntry(ledger, entry) ?? []);
  };
  assertEquals(problems(entries), []);
  const forged = entries.map((entry) => entry.type === "tried" ? { ...entry, losses: [4.5, 4.5, 4.5] } : entry);
  assertMatch(problems(forged)[0] ?? "", /states a loss of .* for the payload of .*; the validators agree on/);
  const changed = (change: (entry: TriedEntry) => object) =>
    problems(entries.map((entry) => entry.type === "tried" ? { ...entry, ...change(entry) } : entry))[0] ?? "";
  assertMatch(changed(() => ({ tokens: 1e9 })), /tokens, which are not those of its losses/);
  const asStart = ({ ends = [] }: TriedEntry) => ends.map((end) => ({ ...end, parameters: ends[0]!.parameters }));
  assertMatch(
    changed((entry) => ({ ends: asStart(entry) })),
    /does not compare its start with each miner's own parameters/,
  );
  const twice = ({ ends = [] }: TriedEntry) =>
    ends.map((end) => ({ ...end, answers: [...end.answers, ...end.answers] }));
  assertMatch(changed((entry) => ({ ends: twice(entry) })), /has two answers of one validator/);
  const withAnswers = forged.map((entry) =>
    entry.type === "tried"
      ? { ...entry, ends: entry.ends?.map((end) => ({ ...end, answers: end.answers.map(lieOf(end.node)) })) }
      : entry
  );
  assertEquals(problems(withAnswers as MachineEntry[]).length, 1, "the report's pay does not follow from it");
});

Deno.test("Leave-one-in evaluation: a share that was taken away is back after eight rounds, in the log as well", () => {
  const { hub, judges: [judge], nodes: [idler, ...honest] } = trying(["judge"]);
  const laid = layOut(hub);
  answer(hub, judge!, (hash) => hash === null || laid.get(hash) === idler ? 5 : 4.5);
  const shares: number[] = [];
  for (let i = 0; i < 9; i++) {
    round(hub, [idler!, ...honest]);
    shares.push(unitsOf(hub, idler!) / unitsOf(hub, honest[0]!));
  }
  assertEquals(shares, [0, 1, 2, 3, 4, 5, 6, 7, 8].map((eighths) => eighths / 8));
  const ledger = openLedger();
  const entries = hub.effects.flatMap((effect): MachineEntry[] => effect.type === "log" ? [effect.entry] : []);
  assertEquals(entries.flatMap((entry) => takeEntry(ledger, entry) ?? []), []);
});

Deno.test("Leave-one-in evaluation: of several validators two must say the same, and one that lies decides nothing", () => {
  const { hub, judges, nodes } = trying(["liar", "one", "other"]);
  const laid = layOut(hub);
  const truth = (hash: string | null) => hash === null ? 5 : 4.5;
  for (let turns = 0; turns < 12; turns++) {
    for (const [i, judge] of judges.entries()) {
      answer(hub, judge, i === 0 ? (hash) => laid.get(hash ?? "") === nodes[1] ? 6 : truth(hash) : truth);
    }
  }
  assertEquals([hub.state.qualities.size, hub.state.audit.trials.length], [0, 0]);
});

Deno.test("Leave-one-in evaluation: a payload that the store has lost is nobody's fault, and the others are compared", () => {
  const { hub, judges: [judge], nodes } = trying(["judge"]);
  const laid = layOut(hub, [nodes[2]!]);
  answer(hub, judge!, (hash) => hash === null || laid.get(hash) === nodes[0] ? 5 : 4.5);
  assertEquals([...hub.state.qualities.keys()], [nodes[0]!]);
  assertEquals(hub.state.audit.trials, []);
});

Deno.test("Leave-one-in evaluation: a restart of the orchestrator forgets the evaluation under way", () => {
  const { hub, nodes } = trying(["judge"]);
  hub.step({ type: "restarted" });
  assertEquals(hub.state.audit.trials.flatMap(({ ends }) => ends.map(({ node }) => node)), [null]);
  const late = hub.blob(4 * hub.state.stageFloats[0]!);
  hub.step({ type: "endLaid", round: 0, stage: hub.state.stages[0]!.index, node: nodes[0]!, parameters: late });
  assert(hub.effects.some((effect) => effect.type === "deleteBlobs" && effect.hashes.includes(late.hash)));
});

Deno.test("Leave-one-in evaluation: a miner that came in mid-round is not compared with those that took all of its steps", () => {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1 },
    pipeline: { stages: 1, codec: "none" },
    validate: { trialsPerRound: 1, replaysPerMiner: 0, statesPerRound: 0, heldOutSequences: 4096 },
    train: { microbatchesPerStep: 6, steps: 42, stepsPerRound: 3 },
    swarm: { replicas: 2, validators: 1 },
    limits: { mergePhaseMs: 600_000, mergeGraceMs: 5_000, leaseMs: 600_000 },
  });
  const judge = hub.validator("judge");
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")];
  answer(hub, judge, () => 5);
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  const late = hub.ready("late");
  hub.work([...nodes, late]);
  for (const node of nodes) hub.seal(node);
  round(hub, [...nodes, late]);
  assertEquals(hub.state.round, 1);
  const tried = hub.effects.flatMap((effect) => effect.type === "layEnd" ? [effect.node] : []);
  assertEquals(tried.toSorted(), nodes);
});

Deno.test("Leave-one-in evaluation: they are drawn as often as their share of the computing allows", () => {
  const drawnIn100 = (trialShare: number) => {
    const { hub, judges, nodes } = trying(["judge"], trialShare);
    for (let i = 1; i < 100; i++) {
      layOut(hub);
      for (const judge of judges) answer(hub, judge, () => 5);
      round(hub, nodes);
    }
    return new Set(hub.effects.flatMap((effect) => effect.type === "layEnd" ? [effect.round] : [])).size;
  };
  const { sequencesPerMicrobatch } = tinyConfig().train;
  const trial = 4 * 4096 / sequencesPerMicrobatch; // three payloads and the start
  const trained = 3 * 6;
  const half = drawnIn100(0.5 * trial / trained);
  assertEquals([drawnIn100(0), half > 30 && half < 70, drawnIn100(trial / trained)], [0, true, 100], `${half}`);
});
