/** Pay that is not due yet, and is lost by who does not show what it did for it. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { isResting, noteWithheld, roundsRemembered } from "../../core/orchestrator/members/blame.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { check, drawn, fine, merge, paidRounds, show, train } from "../support/swarm/shown_rounds.ts";

const judge = "judge" as NodeId;

/** Rounds in which everybody shows what it is asked for. */
function rounds(hub: ScriptedOrchestrator, nodes: readonly NodeId[], count: number): void {
  for (let round = 0; round < count; round++) {
    const step = train(hub, nodes);
    for (const node of nodes) {
      show(hub, node, step);
      check(hub, node, fine);
    }
    merge(hub, nodes);
  }
}

Deno.test("Forfeits: a new miner that leaves when it is to show its parameters loses all that is not due", () => {
  const { hub, nodes } = drawn();
  const [leaver, honest] = nodes;
  rounds(hub, nodes, 6);
  train(hub, nodes);
  hub.tell(leaver, { type: "leaving", reason: "asked" });
  assertEquals(paidRounds(hub, leaver), [0, 1]); // four rounds are not due, and the open one
  assertEquals([...hub.state.forfeits], [[leaver, 2]]);
  assertEquals(paidRounds(hub, honest), [0, 1, 2, 3, 4, 5]);
});

Deno.test("Forfeits: so does one that lets its tasks pass until it is put to rest", () => {
  const { hub, nodes } = drawn({ stepsPerRound: 4 });
  const [idle, honest] = nodes;
  train(hub, nodes);
  assertEquals([hub.state.phase, hub.state.roundUnits.has(idle)], ["training", true]);
  while (!isResting(hub.state, idle)) noteWithheld(hub.state, { node: idle, duty: "tasks" });
  hub.step({ type: "tick" });
  assertEquals(hub.state.members.get(idle)?.stage, null);
  assertEquals([hub.state.roundUnits.has(idle), hub.state.roundUnits.has(honest)], [false, true]);
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

Deno.test("Forfeits: parameters that cannot be cost all that is not due", () => {
  const { hub, nodes } = drawn();
  const [liar] = nodes;
  rounds(hub, nodes, roundsRemembered);
  show(hub, liar, train(hub, nodes));
  check(hub, liar, { ...fine, isFinite: false });
  assertEquals(paidRounds(hub, liar), [0, 1, 2, 3]);
});

Deno.test("Forfeits: who shows its parameters after the merge, in time, loses nothing", () => {
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

Deno.test("Forfeits: who has not shown them by the end of the next round loses both, and validators are told", () => {
  const { hub, nodes } = drawn();
  const [silent, honest] = nodes;
  for (let round = 0; round < 2; round++) {
    const step = train(hub, nodes);
    show(hub, honest, step);
    check(hub, honest, fine);
    merge(hub, nodes);
  }
  assertEquals([paidRounds(hub, silent), paidRounds(hub, honest)], [[], [0, 1]]);
  const reports = hub.inbox(judge).flatMap((message) => message.type === "workReport" ? [message] : []);
  assertEquals(reports.map(({ forfeits }) => forfeits), [[], [{ miner: silent, fromRound: 0 }]]);
  assertEquals(hub.state.forfeits.size, 0);
});
