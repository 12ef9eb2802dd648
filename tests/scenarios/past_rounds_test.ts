/** A run that goes on from a checkpoint and its log, without the journal of its last process. */

import { assertEquals } from "@std/assert";
import { blobHash, type NodeId } from "../../core/ids.ts";
import type { LogEntry } from "../../core/ledger/entry.ts";
import { scoresEntry, takeEntry } from "../../core/ledger/ledger.ts";
import { openLedger, pastRounds } from "../../core/ledger/ledger_state.ts";
import { convict } from "../../core/orchestrator/members/blame.ts";
import { forfeit } from "../../core/orchestrator/audit/forfeits.ts";
import { closesAtMs } from "../../core/orchestrator/closing.ts";
import { openAfter } from "../../core/orchestrator/past_rounds.ts";
import { bookWork, openWorkBook, roundsUntilDue, scoresOf } from "../../core/score/work_score.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { drawn, logOf, rounds } from "../support/swarm/shown_rounds.ts";

const judge = "judge" as NodeId;

/** A process that ends after this many rounds; what is left of it is its log and a checkpoint. */
function ended(count: number, { expels = false } = {}) {
  const { hub, nodes } = drawn();
  const entries: LogEntry[] = logOf(hub);
  rounds(hub, nodes, count - 1);
  if (expels) convict(hub.state, { node: nodes[0], reason: "a verdict" });
  hub.step({ type: "tick" });
  if (!expels) rounds(hub, nodes, 1);
  const ledger = openLedger();
  for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
  return { ledger, nodes };
}

const parameters = { hash: blobHash("ab".repeat(32)), bytes: 64 };

const checkpointOf = (round: number) => ({
  step: 2 * round,
  sources: { round, stages: [{ type: "blobs", parameters, momentum: null } as const] },
});

for (const [name, round] of [["is the newest", 7], ["is older than the last report", 5]] as const) {
  Deno.test(`Past rounds: the log and a validator that joins go on where the checkpoint ${name}`, () => {
    const { ledger } = ended(7);
    const past = pastRounds(ledger);
    const { hub, nodes } = drawn({}, (options) => openAfter({ ...options, from: checkpointOf(round) }, past));
    const { state } = hub;
    assertEquals([state.step, state.round, state.sources.round], [2 * round, 7, 7]);
    assertEquals(state.upload?.round ?? null, round === 7 ? null : 7, "the checkpoint under its new number");
    const begun = { run: "run", hub: "" as NodeId, step: state.step, round: state.round, isJournaled: false };
    assertEquals(takeEntry(ledger, { type: "begun", ...begun }), null);
    if (state.upload !== null) hub.step({ type: "checkpointWritten", round: 7, folder: "" });
    const entries = logOf(hub);
    rounds(hub, nodes, 2);
    for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
    const book = openWorkBook();
    for (const message of hub.inbox(judge)) if (message.type === "workReport") bookWork(book, message);
    const scores = scoresOf(book).map(({ score }) => score);
    assertEquals(scoresEntry(ledger).scores, scores);
    const perRound = 12;
    assertEquals(scores, nodes.map(() => perRound * (9 - roundsUntilDue)));
  });
}

Deno.test("Past rounds: who was banned stays out, if no report has said so either, and a new run begins with round 0", () => {
  const { ledger, nodes: [liar] } = ended(4, { expels: true });
  const hub = new ScriptedOrchestrator({}, (options) => openAfter(options, pastRounds(ledger)));
  assertEquals([hub.state.step, hub.state.round, [...hub.state.expelled]], [0, 3, [liar]]);
  assertEquals(hub.state.upload, null, "initial parameters need no checkpoint");
  const first = new ScriptedOrchestrator({}, (options) => openAfter(options, pastRounds(openLedger())));
  assertEquals([first.state.round, first.state.carriedRates], [0, 0]);
});

Deno.test("Past rounds: a finished run that is given more steps keeps vested what was, and a validator that joins is told so", () => {
  const { hub: first, nodes } = drawn({ steps: 10 });
  const entries: LogEntry[] = logOf(first);
  rounds(first, nodes, 5);
  first.wait(closesAtMs(first.state));
  assertEquals(first.state.phase, "finished");
  const ledger = openLedger();
  const follow = (entries: readonly LogEntry[]) => {
    for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
    return scoresEntry(ledger).scores;
  };
  const atEnd = follow(entries);
  assertEquals(atEnd, [60, 60]);
  const { hub } = drawn({}, (options) => openAfter({ ...options, from: checkpointOf(5) }, pastRounds(ledger)));
  const { state } = hub;
  takeEntry(ledger, { type: "begun", run: "run", hub: "" as NodeId, step: 10, round: state.round, isJournaled: false });
  hub.step({ type: "checkpointWritten", round: state.round, folder: "" });
  const later = logOf(hub);
  rounds(hub, nodes, 1);
  forfeit(state, { node: nodes[0], fromRound: null });
  rounds(hub, nodes, 1);
  assertEquals(follow(later), atEnd);
  const book = openWorkBook();
  hub.validator("later");
  for (const message of hub.inbox("later" as NodeId)) if (message.type === "workReport") bookWork(book, message);
  assertEquals(scoresOf(book).map(({ score }) => score), atEnd);
});
