/** Members that go with results of the open step: what they did is repeated without them, or is not paid. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { queuedAudits } from "../../core/orchestrator/audit/audit_queue.ts";
import { isRepetition } from "../../core/orchestrator/audit/audit_state.ts";
import { closesAtMs } from "../../core/orchestrator/closing.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import {
  check,
  drawn,
  drawnInStages,
  fine,
  finishTraining,
  merge,
  paidRounds,
  replaysWith,
  rounds,
  show,
  train,
} from "../support/swarm/shown_rounds.ts";

function twoStages() {
  const { hub, nodes, ofStage } = drawnInStages({ steps: 400, stepsPerRound: 40 });
  const leaver = ofStage(0)[0]!;
  return { hub, leaver, others: nodes.filter((node) => node !== leaver) };
}

/** The others do the rest of the step. */
function closeWithout(hub: ScriptedOrchestrator, others: readonly NodeId[]): void {
  const { step } = hub.state;
  finishTraining(hub, others, () => hub.state.step > step);
}

/** It delivers a few forwards and goes. */
function leaveStep(hub: ScriptedOrchestrator, { leaver, others }: { leaver: NodeId; others: readonly NodeId[] }): void {
  for (let done = 0; done < 3; done++) {
    const task = hub.tasksOf(leaver).find(({ direction }) => direction === "forward");
    if (task === undefined) break;
    hub.inbox(leaver).splice(hub.inbox(leaver).indexOf(task), 1);
    hub.nowMs += 100;
    hub.finish(leaver, task);
  }
  hub.tell(leaver, { type: "leaving", reason: "bye" });
  hub.inbox(leaver).length = 0;
  closeWithout(hub, others);
}

const audited = (hub: ScriptedOrchestrator, node: NodeId): number =>
  queuedAudits(hub.state.audit.queue).filter((request) => isRepetition(request) && request.replay.miner === node)
    .length;

Deno.test("Leavers: forwards of a round's first step are repeated although their miner is gone, and not paid", () => {
  const { hub, leaver, others } = twoStages();
  leaveStep(hub, { leaver, others });
  assertEquals([audited(hub, leaver) > 0, hub.state.roundUnits.has(leaver)], [true, false]);
});

Deno.test("Leavers: a miner that leaves with forwards of a later step is drawn all the same and cannot open them: its unvested pay is lost", () => {
  const { hub, leaver, others } = twoStages();
  closeWithout(hub, [leaver, ...others]);
  assert(hub.state.roundUnits.has(leaver));
  leaveStep(hub, { leaver, others });
  assertEquals([hub.state.roundUnits.has(leaver), hub.state.standings.get(leaver)?.lapses], [false, 2]);
  hub.join(leaver);
  hub.load(leaver);
  assertEquals(others.every((node) => hub.state.roundUnits.has(node)), true);
});

Deno.test("Leavers: a tail that comes back without its gradient, which another makes again, is drawn like everybody", () => {
  const { hub, nodes, ofStage } = drawnInStages({ steps: 400, stepsPerRound: 40 });
  closeWithout(hub, nodes);
  const [tail] = ofStage(1) as [NodeId];
  const others = nodes.filter((node) => node !== tail);
  hub.work(others, { until: () => hub.tasksOf(tail).length > 0 });
  const [turnaround] = hub.tasksOf(tail);
  hub.finish(tail, turnaround!);
  const { assignment, header } = hub.state.members.get(tail)!;
  hub.step({ type: "nodeDisconnected", node: tail });
  hub.inbox(tail).length = 0;
  for (let returns = 0; returns < 3; returns++) { // so often that its task goes to others
    hub.join(tail, { holding: { assignment, round: 0, step: header?.step ?? null, tasks: [] } });
  }
  assertEquals([hub.state.work!.contributors.has(tail), hub.state.work!.delivered.has(tail)], [false, true]);
  closeWithout(hub, others);
  assertEquals(hub.state.audit.awaited.has(tail), true);
});

Deno.test("Leavers: what a miner has opened is checked and repeated after it has left, and costs it nothing", () => {
  const { hub, nodes } = drawn();
  const [leaver] = nodes;
  rounds(hub, nodes, 5);
  const step = train(hub, nodes);
  const { hash } = show(hub, leaver, step);
  const effect = hub.effects.length;
  hub.tell(leaver, { type: "leaving", reason: "asked" });
  assertEquals(paidRounds(hub, leaver), [0, 1, 2, 3, 4]);
  assert(hub.effects.slice(0, effect).some(({ type }) => type === "checkState"));
  check(hub, leaver, fine);
  assertEquals([replaysWith(hub, hash), hub.state.forfeits.has(leaver)], [1, false]);
});

Deno.test("Leavers: one that opens impossible parameters and leaves before the check loses all unvested pay", () => {
  const { hub, nodes } = drawn();
  const [liar] = nodes;
  rounds(hub, nodes, 5);
  show(hub, liar, train(hub, nodes));
  hub.tell(liar, { type: "leaving", reason: "asked" });
  check(hub, liar, { ...fine, isFinite: false });
  assertEquals([paidRounds(hub, liar), [...hub.state.forfeits]], [[0], [[liar, 1]]]);
});

Deno.test("Leavers: a member that cannot resume after a restart of the orchestrator is not charged for it", () => {
  const { hub, nodes } = drawn();
  const [gone, silent] = nodes;
  rounds(hub, nodes, 5);
  train(hub, nodes);
  hub.step({ type: "restarted" });
  hub.join(gone); // with nothing of its stage
  assertEquals([paidRounds(hub, gone), hub.state.forfeits.size], [[0, 1, 2, 3, 4], 0]);
  assertEquals(hub.state.audit.awaited.has(silent), true, "who stays is still to show");
});

Deno.test("Leavers: a machine that restarts with orchestrator and miners in the middle of every round puts nobody to rest", () => {
  const { hub, nodes } = drawnInStages({ steps: 400, stepsPerRound: 4 });
  for (let restarts = 0; restarts < 6; restarts++) {
    const { step } = hub.state;
    finishTraining(hub, nodes, () => hub.state.step > step + 1);
    let tasks = 5;
    hub.work(nodes, { until: () => tasks-- < 0 });
    hub.step({ type: "restarted" });
    for (const node of nodes) {
      hub.inbox(node).length = 0;
      hub.join(node);
    }
    hub.validator("judge");
    for (const node of nodes) hub.load(node);
  }
  assertEquals(
    [...hub.state.standings.values()].filter(({ lapses, restUntilRound }) => lapses + restUntilRound > 0),
    [],
  );
  assertEquals(hub.state.members.size, nodes.length + 1);
});

Deno.test("Leavers: a run whose validators have no link when it closes waits for them, and pays nobody who shows nothing", () => {
  const { hub, nodes } = drawn({ steps: 10 });
  const [silent, honest] = nodes;
  const judge = "judge" as NodeId;
  rounds(hub, nodes, 4);
  hub.state.audit.proven.add(judge); // it has answered before
  const step = train(hub, nodes);
  show(hub, honest, step);
  check(hub, honest, fine);
  hub.step({ type: "nodeDisconnected", node: judge });
  merge(hub, nodes);
  hub.wait(hub.state.config.limits.disconnectGraceMs + 1);
  assertEquals([hub.state.phase, hub.state.validators.size], ["closing", 0]);
  const closeMs = closesAtMs(hub.state);
  hub.wait(closeMs);
  assertEquals(hub.state.phase, "finished");
  assertEquals([paidRounds(hub, silent), paidRounds(hub, honest)], [[0], [0, 1, 2, 3, 4]]);
  assert(hub.records.some((record) => record.type === "warning" && record.text.includes("cut off by the run's end")));
});
