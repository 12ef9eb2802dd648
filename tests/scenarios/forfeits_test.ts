/** Unvested pay, which a miner forfeits if it does not open the parameters that it worked with. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { LogEntry } from "../../core/ledger/entry.ts";
import { scoresEntry, takeEntry } from "../../core/ledger/ledger.ts";
import { type Ledger, openLedger } from "../../core/ledger/ledger_state.ts";
import { convict, isResting, noteWithheld, roundsRemembered } from "../../core/orchestrator/members/blame.ts";
import { closesAtMs, showsUntilMs } from "../../core/orchestrator/closing.ts";
import { bookWork, openWorkBook, roundsUntilDue, scoresOf, type WorkBook } from "../../core/score/work_score.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import {
  check,
  drawn,
  fine,
  finishTraining,
  logOf,
  merge,
  paidRounds,
  replaysWith,
  rounds,
  show,
  showAll,
  train,
} from "../support/swarm/shown_rounds.ts";

const judge = "judge" as NodeId;

/** Books what a validator has been told since it was asked last. */
function follow(hub: ScriptedOrchestrator, validator: NodeId, book: WorkBook): WorkBook {
  for (const message of hub.inbox(validator).splice(0)) if (message.type === "workReport") bookWork(book, message);
  return book;
}

/** A log all of whose entries follow. */
function followedLog(entries: readonly LogEntry[], ledger = openLedger()): Ledger {
  for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
  return ledger;
}

const scoresIn = (entries: readonly LogEntry[]): readonly number[] => scoresEntry(followedLog(entries)).scores;

/** Wires of the open round were made up. */
function beginAnew(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  hub.state.restartBecause = "wires were made up"; // as the arbiter sets it
  hub.step({ type: "tick" });
  hub.step({ type: "checkpointWritten", round: hub.state.round, folder: "" });
  for (const node of nodes) {
    const inbox = hub.inbox(node);
    inbox.splice(0, inbox.findLastIndex(({ type }) => type === "assign"));
    hub.load(node);
  }
}

/** A round in which the first of them shows what cannot be. */
function roundWithLie(hub: ScriptedOrchestrator, [liar, honest]: readonly [NodeId, NodeId]): void {
  lie(hub, [liar, honest], train(hub, [liar, honest]));
}

function lie(hub: ScriptedOrchestrator, [liar, honest]: readonly [NodeId, NodeId], step: number): void {
  show(hub, liar, step);
  check(hub, liar, { ...fine, isFinite: false });
  show(hub, honest, step);
  check(hub, honest, fine);
  merge(hub, [liar, honest]);
}

Deno.test("Forfeits: a new miner that leaves when it must open its parameters loses all unvested pay", () => {
  const { hub, nodes } = drawn();
  const [leaver, honest] = nodes;
  rounds(hub, nodes, 6);
  train(hub, nodes);
  hub.tell(leaver, { type: "leaving", reason: "asked" });
  assertEquals(paidRounds(hub, leaver), [0, 1]); // four rounds have not vested, nor the open one
  assertEquals([...hub.state.forfeits], [[leaver, 2]]);
  assertEquals(paidRounds(hub, honest), [0, 1, 2, 3, 4, 5]);
});

Deno.test("Forfeits: a miner whose missed leases suspend it must still open its parameters", () => {
  const { hub, nodes } = drawn({ stepsPerRound: 4 });
  const [idle, honest] = nodes;
  train(hub, nodes);
  while (!isResting(hub.state, idle)) noteWithheld(hub.state, { node: idle, duty: "tasks" });
  hub.step({ type: "tick" });
  assertEquals([hub.state.members.get(idle)?.stage, hub.state.roundUnits.has(idle)], [null, true]);
  for (let round = 0; round < 2; round++) {
    finishTraining(hub, [honest]);
    showAll(hub, honest);
    merge(hub, [honest]);
  }
  assertEquals([paidRounds(hub, idle), paidRounds(hub, honest)], [[], [0, 1]]);
});

Deno.test("Forfeits: a miner that was reliable for long loses the round asked about, and the second time the rest", () => {
  const { hub, nodes } = drawn();
  const [slow, honest] = nodes;
  rounds(hub, nodes, roundsRemembered);
  const step = train(hub, nodes);
  show(hub, slow, step);
  check(hub, slow, null); // it is not in the store
  assertEquals([paidRounds(hub, slow).length, hub.state.roundUnits.has(slow)], [roundsRemembered, false]);
  show(hub, honest, step);
  check(hub, honest, fine);
  merge(hub, nodes);
  rounds(hub, nodes, 1);
  const later = train(hub, nodes);
  show(hub, slow, later);
  check(hub, slow, null);
  const last = hub.state.reports.at(-1)!.round;
  assertEquals(paidRounds(hub, slow), Array.from({ length: last - 3 }, (_, round) => round));
});

Deno.test("Forfeits: a pending gradient commitment does not excuse the second time that a miner leaves", () => {
  const { hub, nodes } = drawn();
  const [cheat, honest] = nodes;
  rounds(hub, nodes, roundsRemembered);
  const leave = () => {
    hub.work(nodes);
    assert(hub.maySeal(cheat), "it is asked to commit");
    hub.tell(cheat, { type: "leaving", reason: "bad luck" });
    return paidRounds(hub, cheat).filter((round) => round > hub.state.round - 1 - roundsUntilDue);
  };
  assertEquals(leave().length, roundsUntilDue, "in a round's first step, with nothing to show");
  hub.join(cheat);
  hub.load(cheat);
  finishTraining(hub, nodes);
  for (const node of nodes) showAll(hub, node);
  merge(hub, nodes);
  rounds(hub, nodes, 2);
  train(hub, nodes);
  showAll(hub, honest);
  merge(hub, nodes);
  assertEquals(leave(), [], "with parameters to show");
});

Deno.test("Forfeits: impossible parameters cost all unvested pay", () => {
  const { hub, nodes } = drawn();
  const [liar] = nodes;
  rounds(hub, nodes, roundsRemembered);
  show(hub, liar, train(hub, nodes));
  check(hub, liar, { ...fine, isFinite: false });
  assertEquals(paidRounds(hub, liar), [0, 1, 2, 3]);
});

Deno.test("Forfeits: a miner that opens its parameters after the merge, in time, loses nothing", () => {
  const { hub, nodes } = drawn();
  const [slow, quick] = nodes;
  const steps: number[] = [];
  for (let round = 0; round < 2; round++) {
    steps.push(train(hub, nodes));
    show(hub, quick, steps[round]!);
    check(hub, quick, fine);
    if (round === 1) {
      for (const step of steps) {
        show(hub, slow, step);
        check(hub, slow, fine);
      }
    }
    merge(hub, nodes);
  }
  assertEquals([paidRounds(hub, slow), paidRounds(hub, quick)], [[0, 1], [0, 1]]);
});

Deno.test("Forfeits: a validator that was away when they were reported, or comes later, scores as the others do", () => {
  const { hub, nodes } = drawn();
  const steady = hub.validator("steady");
  rounds(hub, nodes, 6);
  const [ofJudge, ofSteady] = [follow(hub, judge, openWorkBook()), follow(hub, steady, openWorkBook())];
  hub.step({ type: "nodeDisconnected", node: judge });
  hub.wait(hub.state.config.limits.disconnectGraceMs + 1);
  roundWithLie(hub, nodes);
  hub.inbox(judge).length = 0;
  hub.validator("judge");
  rounds(hub, nodes, 4);
  const late = hub.validator("late");
  const scores = scoresOf(follow(hub, steady, ofSteady));
  assertEquals(scores.map(({ score }) => score), [24, 84]); // of seven vested rounds the liar has two
  assertEquals(scoresOf(follow(hub, judge, ofJudge)), scores);
  assertEquals(scoresOf(follow(hub, late, openWorkBook())), scores);
});

Deno.test("Forfeits: after a round that was begun anew the log and all validators agree", () => {
  const { hub, nodes } = drawn();
  const entries = logOf(hub);
  rounds(hub, nodes, 8);
  beginAnew(hub, nodes);
  assertEquals([hub.state.round, hub.state.reports.at(-1)?.round], [9, 7]);
  finishTraining(hub, nodes);
  lie(hub, nodes, hub.state.step - 1);
  const scores = scoresOf(follow(hub, judge, openWorkBook()));
  assertEquals(scoresIn(entries), scores.map(({ score }) => score));
  assertEquals(scores.map(({ score }) => score), [48, 72]);
});

Deno.test("Forfeits: a round that is begun anew frees nobody from opening the parameters of those before", () => {
  const { hub, nodes } = drawn();
  const [silent, honest] = nodes;
  rounds(hub, nodes, 3);
  const step = train(hub, nodes);
  merge(hub, nodes);
  train(hub, nodes);
  beginAnew(hub, nodes);
  const awaited = () => nodes.map((node) => hub.state.audit.awaited.get(node)?.map((each) => each.round));
  assertEquals(awaited(), [[3], [3]], "not of the work that was dropped");
  show(hub, honest, step);
  check(hub, honest, fine);
  assertEquals(awaited(), [[3], undefined]);
  finishTraining(hub, nodes);
  const again = hub.state.step - 1;
  for (const node of nodes) {
    show(hub, node, again);
    check(hub, node, fine);
  }
  merge(hub, nodes);
  assertEquals(paidRounds(hub, silent), []); // nothing was due yet
  assertEquals(paidRounds(hub, honest), [0, 1, 2, 3, 5]);
});

/** A run of five rounds that is closing, in the last of which one of two has not opened its parameters. */
function closing() {
  const { hub, nodes } = drawn({ steps: 10 });
  const entries = logOf(hub);
  const [silent, honest] = nodes;
  rounds(hub, nodes, 4);
  const step = train(hub, nodes);
  show(hub, honest, step);
  check(hub, honest, fine);
  merge(hub, nodes);
  assertEquals(hub.state.phase, "closing");
  return { hub, entries, silent, honest, step };
}

Deno.test("Forfeits: parameters of the last round that are not opened until the run is closed cost the unvested pay", () => {
  const { hub, entries, silent, honest } = closing();
  hub.wait(closesAtMs(hub.state));
  assertEquals(hub.state.phase, "finished");
  const scores = scoresOf(follow(hub, judge, openWorkBook()));
  assertEquals(scores.map(({ miner, score }) => [miner, score]), [[silent, 12], [honest, 60]]); // one of five rounds had vested
  assertEquals(scoresIn(entries), scores.map(({ score }) => score));
});

Deno.test("Forfeits: what is shown in the last moment is repeated before the run ends, and later than that it is not shown", () => {
  for (const lateMs of [-1, 1]) {
    const { hub, silent, honest, step } = closing();
    hub.nowMs = showsUntilMs(hub.state) + lateMs;
    hub.step({ type: "tick" });
    const { hash } = show(hub, silent, step);
    if (lateMs < 0) check(hub, silent, fine);
    const expected = lateMs < 0 ? [false, 1] : [true, 0];
    assertEquals([hub.state.forfeits.has(silent), replaysWith(hub, hash)], expected);
    assertEquals(closesAtMs(hub.state) - hub.nowMs > hub.state.config.limits.mergePhaseMs / 2, true);
    assertEquals(hub.state.forfeits.has(honest), false);
  }
});

Deno.test("Forfeits: having no link when the run is closed does not excuse from having shown", () => {
  const { hub, silent: away, honest } = closing();
  hub.nowMs = closesAtMs(hub.state) - 500;
  hub.step({ type: "nodeDisconnected", node: away });
  hub.wait(1_000);
  assertEquals(hub.state.phase, "finished");
  const scores = scoresOf(follow(hub, judge, openWorkBook()));
  assertEquals(scores.map(({ miner, score }) => [miner, score]), [[away, 12], [honest, 60]]);
});

Deno.test("Forfeits: who is banned while the run closes is not paid for its last rounds either", () => {
  const { hub, nodes } = drawn({ steps: 10 });
  const entries = logOf(hub);
  const [liar, honest] = nodes;
  rounds(hub, nodes, 5);
  convict(hub.state, { node: liar, reason: "a verdict" });
  hub.wait(closesAtMs(hub.state));
  assertEquals(hub.state.phase, "finished");
  assertEquals(scoresEntry(followedLog(entries)), {
    ...{ type: "scores", round: 5, miners: [liar, honest], scores: [0, 60], differing: [] },
  });
});
