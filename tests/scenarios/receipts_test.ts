/** What miners sign: the results they delivered, step by step, and their payloads; and what the log can show of it. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { CommittedEntry, MachineEntry, VerdictEntry } from "../../core/ledger/entry.ts";
import { takeEntry } from "../../core/ledger/ledger.ts";
import { openLedger } from "../../core/ledger/ledger_state.ts";
import { nextHead } from "../../core/statements/work_chain.ts";
import { rootOf } from "../../core/statements/work_tree.ts";
import { commit, passWait, reduceAll } from "../support/swarm/scripted_merge.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const wrong = { innovationError: 2, equalShare: 0, lossError: null, signature: "" };

/** Two stages of two replicas and one validator; steps of eight microbatches, three a round. */
function swarm() {
  const hub = new ScriptedOrchestrator({
    validate: { replaysPerMiner: 1 },
    train: { microbatchesPerStep: 8, steps: 9, stepsPerRound: 3 },
    swarm: { replicas: 2, validators: 1 },
    limits: { leaseMs: 600_000, mergePhaseMs: 600_000 },
  });
  const judge = hub.validator("validator-0");
  const nodes = [0, 1, 2, 3].map((i) => hub.ready(`miner-${i}`));
  const { request } = hub.take(judge, "evaluate");
  hub.tell(judge, { type: "evaluated", request, loss: 5, tokens: 64, signature: "" });
  return { hub, judge, nodes };
}

function trainStep(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.work(nodes);
  for (const node of [...hub.state.work!.contributors]) hub.seal(node);
}

const entries = ({ effects }: ScriptedOrchestrator): MachineEntry[] =>
  effects.flatMap((effect) => effect.type === "log" ? [effect.entry] : []);

const headOf = (hub: ScriptedOrchestrator, node: NodeId) => hub.state.members.get(node)!.head;

const blamed = (hub: ScriptedOrchestrator) =>
  hub.records.flatMap((record) => record.type === "blamed" ? [[record.node, record.code]] : []);

Deno.test("Receipts: a miner signs for its gradient tasks and their forwards, and nobody else's", () => {
  const { hub, nodes } = swarm();
  const done = new Map(nodes.map((node) => [node, new Set<string>()]));
  hub.watch = (event) => {
    if (event.type !== "messageReceived" || event.message.type !== "taskDone") return;
    done.get(event.node)?.add(event.message.task);
  };
  hub.work(nodes);
  for (const node of nodes) {
    const { tasks, delivered } = hub.take(node, "sealStep");
    assert(tasks.every((task) => delivered.includes(task)), "every gradient task is signed for");
    assert(delivered.every((task) => done.get(node)!.has(task)), "it has done them all");
    assertEquals(delivered.length, (tasks[0]!.includes("turnaround") ? 1 : 2) * tasks.length);
  }
});

Deno.test("Receipts: another root is blamed, and the gradient counts all the same", () => {
  const { hub, nodes: [liar, ...rest] } = swarm();
  hub.work([liar!, ...rest]);
  const { step, request, tasks } = hub.take(liar!, "sealStep");
  const claim = { tasks: tasks.length, gradientSquareSum: 1 };
  hub.tell(liar!, { type: "stepSealed", step, request, ...claim, root: "ab".repeat(32), signature: "" });
  for (const node of rest) hub.seal(node);
  assertEquals(blamed(hub), [[liar, "unauthenticated"]]);
  assertEquals(hub.state.step, 1);
});

Deno.test("Receipts: each step extends the chain of those whose work its header counts", () => {
  const { hub, nodes: [node, ...rest] } = swarm();
  const links: { round: number; step: number; root: string }[] = [];
  hub.watch = (event) => {
    if (event.type !== "messageReceived" || event.node !== node || event.message.type !== "stepSealed") return;
    links.push({ round: 0, step: event.message.step, root: event.message.root });
  };
  trainStep(hub, [node!, ...rest]);
  trainStep(hub, [node!, ...rest]);
  assertEquals(links.length, 2);
  assertEquals(headOf(hub, node!), links.reduce(nextHead, "0".repeat(64)));
});

Deno.test("Receipts: work that another member repeats is not signed for twice, and who lost it is not asked", () => {
  const { hub, nodes } = swarm();
  hub.work(nodes, { until: () => hub.state.work!.left === 2 });
  const gone = nodes.find((node) => (hub.state.members.get(node)?.stepTasks.length ?? 0) > 0)!;
  hub.tell(gone, { type: "leaving", reason: "bye" });
  const rest = nodes.filter((node) => node !== gone);
  hub.work(rest);
  const signed: string[] = [];
  for (const node of [...hub.state.work!.contributors]) {
    const { delivered } = hub.inbox(node).findLast((message) => message.type === "sealStep") ?? { delivered: [] };
    signed.push(...delivered);
    while (hub.maySeal(node)) hub.seal(node);
  }
  assertEquals(new Set(signed).size, signed.length);
  assertEquals([hub.state.step, blamed(hub).length], [1, 0]);
});

Deno.test("Receipts: a failed verdict carries the path to what its miner signed, and any change to it does not follow", () => {
  const { hub, judge, nodes } = swarm();
  trainStep(hub, nodes);
  const { request } = hub.take(judge, "replay");
  hub.tell(judge, { type: "replayed", request, ...wrong });
  const verdict = entries(hub).findLast((entry) => entry.type === "verdict");
  assert(verdict?.type === "verdict" && verdict.proof?.work !== undefined, "it is proven");
  const follows = (entry: VerdictEntry) => takeEntry(openLedger(), entry);
  assertEquals(follows(verdict), null);
  const { proof } = verdict;
  assert((proof.path?.length ?? 0) > 0);
  for (
    const change of [
      { root: rootOf(["ab"]) },
      { path: [] },
      { path: proof.path!.map((node) => node.map((hash) => hash === "" ? "ab".repeat(32) : hash)) },
      { work: { ...proof.work!, output: "ab".repeat(32) } },
    ]
  ) {
    assertMatch(follows({ ...verdict, proof: { ...proof, ...change } }) ?? "", /about work that its miner signed/);
  }
});

Deno.test("Receipts: a forged signature under wrong work is blamed on its miner, and the verdict stands unproven", () => {
  const { hub, judge, nodes } = swarm();
  trainStep(hub, nodes);
  hub.isGenuine = ({ statement }) => statement.type !== "step";
  const { request, miner } = hub.take(judge, "replay");
  hub.tell(judge, { type: "replayed", request, ...wrong });
  const verdict = entries(hub).findLast((entry) => entry.type === "verdict");
  assert(verdict?.type === "verdict");
  assertEquals([verdict.passed, verdict.proof, blamed(hub)], [false, undefined, [[miner, "unauthenticated"]]]);
});

/** Until the round's payloads are asked for. */
function toMerge() {
  const made = swarm();
  for (let i = 0; i < 3; i++) trainStep(made.hub, made.nodes);
  return made;
}

Deno.test("Commitments: a merged round's entry has the payload and the steps of every miner, as they signed them", () => {
  const { hub, nodes } = toMerge();
  const heads = nodes.map((node) => headOf(hub, node));
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  passWait(hub);
  const stages = [hub.blob(64), hub.blob(64)];
  for (const node of nodes) {
    const parameters = stages[hub.state.members.get(node)!.stage!]!;
    hub.tell(node, { type: "mergeApplied", round: 1, parameters, momentum: null });
  }
  const committed = entries(hub).find((entry): entry is CommittedEntry => entry.type === "committed");
  assert(committed !== undefined);
  const inOrder = nodes.map((node) => committed.heads[committed.miners.indexOf(node)]);
  assertEquals([committed.round, inOrder], [0, heads]);
});

for (const lie of ["head", "signature"] as const) {
  Deno.test(`Commitments: a false ${lie} is blamed, and its payload is neither merged nor paid`, () => {
    const { hub, nodes: [liar] } = toMerge();
    if (lie === "signature") hub.isGenuine = ({ statement }) => statement.type !== "round";
    const { round, slices } = hub.take(liar!, "startMerge");
    const payload = slices.map(({ size }) => hub.blob(4 * size));
    const head = lie === "head" ? { head: "ab".repeat(32) } : {};
    hub.tell(liar!, { type: "payloadCommitted", round, slices: payload, ...head });
    assertEquals(blamed(hub), [[liar, "unauthenticated"]]);
    const { stage } = hub.state.members.get(liar!)!;
    assertEquals([hub.state.merge!.stages[stage!]!.payloads.has(liar!), hub.state.roundUnits.has(liar!)], [
      false,
      false,
    ]);
  });
}
