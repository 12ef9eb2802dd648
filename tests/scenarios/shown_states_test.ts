/** States that drawn miners must show: when their tasks are audited with them, and what missing or impossible ones cost. */

import { assertEquals } from "@std/assert";
import { microbatchId, stageIndex, taskId } from "../../core/ids.ts";
import { timesAsOften } from "../../core/orchestrator/audit/drawn_miners.ts";
import type { PayloadStats } from "../../core/update/payload_stats.ts";
import { commit } from "../support/swarm/scripted_merge.ts";
import {
  check,
  drawn,
  drawnInStages,
  faultsOf,
  fine,
  finishTraining,
  merge,
  paidInLastRound,
  paidRounds,
  replaysWith,
  show,
  train,
} from "../support/swarm/shown_rounds.ts";

Deno.test("Opened parameters: the drawn task waits for a validator with the opened parameters", () => {
  const { hub, nodes: [one, two] } = drawn();
  const step = train(hub, [one, two]);
  const change = show(hub, one, step);
  assertEquals(replaysWith(hub, change.hash), 0, "not before the orchestrator has looked at it");
  check(hub, one, fine);
  assertEquals(replaysWith(hub, change.hash), 1);
  show(hub, one, step);
  assertEquals(hub.effects.filter(({ type }) => type === "checkState").length, 1, "a state is shown once");
  assertEquals([faultsOf(hub, one), hub.state.audit.awaited.has(one)], [0, false]);
});

Deno.test("Opened parameters: a miner that does far more than the others of its stage is drawn as much more often, four times at most", () => {
  const stage = stageIndex(0);
  const timesOf = (own: number, others: readonly number[]) => {
    const tasks = others.reduce((sum, each) => sum + each, own);
    const stepTasks = Array.from(
      { length: own },
      (_, i) => taskId({ microbatch: microbatchId(i), stage, direction: "turnaround", attempt: 0 }),
    );
    return timesAsOften({ stage, stepTasks }, new Map([[stage, { tasks, contributors: 1 + others.length }]]));
  };
  assertEquals([timesOf(3, [3, 3]), timesOf(2, [1, 1]), timesOf(1, [3, 3]), timesOf(9, [])], [1, 1, 1, 1]);
  assertEquals([timesOf(9, [3, 3]), timesOf(6, [2]), timesOf(30, [3])], [3, 3, 4]);
});

Deno.test("Opened parameters: a miner that hid its parameters gets nothing for two rounds, then pay again", () => {
  const { hub, nodes } = drawn();
  const [silent, honest] = nodes;
  for (let round = 0; round < 4; round++) {
    const step = train(hub, nodes);
    for (const node of nodes) {
      if (node === silent && round === 0) continue;
      show(hub, node, step);
      check(hub, node, fine);
    }
    merge(hub, nodes);
  }
  assertEquals([paidRounds(hub, silent), paidRounds(hub, honest)], [[2, 3], [0, 1, 2, 3]]);
  assertEquals([faultsOf(hub, silent), faultsOf(hub, honest)], [1, 0]);
});

Deno.test("Opened parameters: a miner that leaves instead loses its unvested pay, soon after its place, and is otherwise paid", () => {
  for (const [isGone, isBack] of [[true, false], [true, true], [false, true]]) {
    const { hub, nodes } = drawn({ microbatchesPerStep: 12 });
    const [leaver, honest] = nodes;
    for (let round = 0; round < 4; round++) {
      const step = train(hub, nodes);
      for (const node of nodes) {
        if (node === leaver && isGone) continue;
        show(hub, node, step);
        check(hub, node, fine);
      }
      merge(hub, nodes);
      hub.inbox(leaver).length = 0;
      if (!isBack) hub.tell(leaver, { type: "leaving", reason: "bye" });
      hub.join(leaver); // without the former: like a process that has been killed
      if ((hub.state.standings.get(leaver)?.restUntilRound ?? 0) > hub.state.round) break;
      hub.load(leaver);
    }
    const [rounds, ofHonest] = [paidRounds(hub, leaver), paidRounds(hub, honest)];
    assertEquals([rounds, ofHonest], isGone ? [[], [0, 1]] : [[0, 1, 2, 3], [0, 1, 2, 3]], `${isGone} ${isBack}`);
  }
});

Deno.test("Opened parameters: hiding twice in a few rounds costs the place for sixteen", () => {
  const { hub, nodes } = drawn();
  const [silent, honest] = nodes;
  for (let round = 0; round < 3; round++) {
    const step = train(hub, nodes);
    show(hub, honest, step);
    check(hub, honest, fine);
    merge(hub, nodes);
  }
  assertEquals(hub.state.standings.get(silent)?.restUntilRound, hub.state.round + 16);
  assertEquals(hub.state.standings.get(honest)?.restUntilRound ?? 0, 0);
});

/** One of two has no link when the parameters of the round before are requested. */
function awayWhenDue() {
  const { hub, nodes } = drawn();
  const [away, honest] = nodes;
  const step = train(hub, nodes);
  show(hub, honest, step);
  check(hub, honest, fine);
  merge(hub, nodes);
  const next = train(hub, nodes);
  show(hub, honest, next);
  check(hub, honest, fine);
  merge(hub, nodes, () => hub.step({ type: "nodeDisconnected", node: away }));
  assertEquals([hub.state.round, paidInLastRound(hub, away), hub.state.unpaid.size], [2, true, 0]);
  assertEquals(hub.state.standings.get(away)?.absentRound, 2);
  const comeBack = () => {
    const { assignment, header } = hub.state.members.get(away)!;
    hub.join(away, { holding: { assignment, round: hub.state.round, step: header?.step ?? null, tasks: [] } });
    assertEquals(hub.state.members.get(away)?.graceUntilMs, null);
  };
  return { hub, nodes, away, step, next, comeBack };
}

Deno.test("Opened parameters: a disconnected miner opens them when it is back", () => {
  const { hub, away, step, next, comeBack } = awayWhenDue();
  comeBack();
  for (const each of [step, next]) {
    const { hash } = show(hub, away, each);
    check(hub, away, fine);
    assertEquals(replaysWith(hub, hash), 1);
  }
  assertEquals([hub.state.forfeits.size, faultsOf(hub, away)], [0, 0]);
});

Deno.test("Opened parameters: a miner that does not come back in time, or is away again at the next round's end, loses what it was paid", () => {
  const gone = awayWhenDue();
  gone.hub.wait(gone.hub.state.config.limits.disconnectGraceMs + 1);
  assertEquals(paidRounds(gone.hub, gone.away), []);
  const { hub, nodes, away, comeBack } = awayWhenDue();
  comeBack();
  finishTraining(hub, nodes);
  merge(hub, nodes, () => hub.step({ type: "nodeDisconnected", node: away }));
  assertEquals([hub.state.round, paidRounds(hub, away)], [3, []]);
});

Deno.test("Opened parameters: a restart of the orchestrator begins its own checks again and frees nobody from opening them", () => {
  const { hub, nodes: [shown, silent] } = drawn();
  const step = train(hub, [shown, silent]);
  const { hash } = show(hub, shown, step);
  hub.step({ type: "restarted" });
  assertEquals([...hub.state.audit.awaited.keys()], [shown, silent]);
  assertEquals(hub.effects.filter(({ type }) => type === "checkState").length, 2);
  check(hub, shown, fine);
  assertEquals([replaysWith(hub, hash), faultsOf(hub, silent)], [1, 0]);
  const late = show(hub, silent, step);
  check(hub, silent, fine);
  assertEquals([replaysWith(hub, late.hash), faultsOf(hub, silent), hub.state.audit.awaited.size], [1, 0, 0]);
});

Deno.test("Opened parameters: parameters that are not stored, not finite or too far away cost their miner, not others", () => {
  const far: PayloadStats = { isFinite: true, squareSum: 1e6, largest: 1e3 };
  for (const way of [null, { ...fine, isFinite: false }, far]) {
    const { hub, nodes: [liar, honest] } = drawn();
    const { hash } = show(hub, liar, train(hub, [liar, honest]));
    check(hub, liar, way);
    assertEquals([replaysWith(hub, hash), faultsOf(hub, liar), faultsOf(hub, honest)], [0, 1, 0]);
    assertEquals([hub.state.roundUnits.has(liar), hub.state.roundUnits.has(honest)], [false, true]);
  }
});

Deno.test("Opened parameters: losses are those of the miner whose gradient counts, not of one that is gone", () => {
  const { hub, nodes: [gone, stays] } = drawn();
  hub.work([gone, stays]);
  for (const node of [gone, stays]) hub.seal(node);
  hub.loss = 7;
  const [task] = hub.tasksOf(gone);
  hub.finish(gone, task!);
  hub.tell(gone, { type: "leaving", reason: "bye" });
  hub.loss = 1;
  hub.work([stays]);
  hub.seal(stays);
  const { pathways } = hub.state.outcomes.at(-1)!;
  assertEquals(pathways.map(({ losses }) => losses[0]), [1, 1, 1, 1]);
});

Deno.test("Opened parameters: what a miner did before it came back with its stage loaded anew is not repeated with what it opens", () => {
  const { hub, nodes, ofStage } = drawnInStages({ steps: 40, stepsPerRound: 2 });
  const head = ofStage(0)[0]!;
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  const before = hub.take(head, "runTask");
  assertEquals([hub.state.step, before.direction], [1, "forward"]);
  hub.finish(head, before);
  hub.tell(head, { type: "leaving", reason: "bye" });
  hub.inbox(head).length = 0;
  assertEquals(hub.ready(head), head);
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  const repeated = hub.state.audit.awaited.get(head)!.flatMap(({ replays }) => replays.map(({ task }) => task));
  assertEquals([repeated.length > 0, repeated.includes(before.task)], [true, false]);
});

/** Both replicas commit payloads with this sketch, after the first has opened parameters with another. */
function commitAfter({ shown, committed, back = false }: { shown: number; committed: number; back?: boolean }) {
  const { hub, nodes } = drawn(back ? { stepsPerRound: 3, microbatchesPerStep: 12 } : {});
  const [liar, honest] = nodes;
  const sketch = (value: number) => [value, ...new Array<number>(255).fill(0)];
  hub.shapeOf = () => ({ tensorSquares: [committed ** 2], peakSquares: [0], sketch: sketch(committed) });
  const step = train(hub, nodes);
  show(hub, liar, step);
  check(hub, liar, fine, sketch(shown));
  if (back) {
    hub.tell(liar, { type: "leaving", reason: "bye" });
    hub.inbox(liar).length = 0;
    hub.ready(liar);
    hub.work(nodes);
    for (const node of nodes) hub.seal(node);
  }
  for (const node of nodes) if (hub.inbox(node).some(({ type }) => type === "startMerge")) commit(hub, node);
  return { hub, liar, honest };
}

/** The way that one step may lead, as the norm of the stage's vector. */
function oneStep(): number {
  const { hub } = drawn();
  return hub.state.config.train.learningRate * Math.sqrt(hub.state.stageFloats[0]!);
}

Deno.test("Opened parameters: a payload out of range of the remaining steps bans its miner, and is not merged", () => {
  const far = 10 * oneStep();
  const { hub, liar, honest } = commitAfter({ shown: far, committed: -far });
  assertEquals([hub.state.expelled.has(liar), hub.state.expelled.has(honest)], [true, false]);
  assertEquals([...hub.state.merge!.stages[0]!.payloads.keys()], [honest]);
  assertEquals(faultsOf(hub, liar), 1);
});

Deno.test("Opened parameters: a payload within the update-norm bound of the remaining steps is as good as any", () => {
  const far = 10 * oneStep();
  const { hub, liar } = commitAfter({ shown: far, committed: far + oneStep() / 4 });
  assertEquals([hub.state.expelled.has(liar), faultsOf(hub, liar)], [false, 0]);
  assertEquals(hub.state.merge!.stages[0]!.payloads.has(liar), true);
});

Deno.test("Opened parameters: a miner that loads its stage anew in between commits from other parameters than it opened", () => {
  const far = 10 * oneStep();
  const { hub, liar } = commitAfter({ shown: far, committed: -far, back: true });
  assertEquals([hub.state.expelled.has(liar), faultsOf(hub, liar)], [false, 0]);
  assertEquals(hub.state.merge!.stages[0]!.payloads.has(liar), true);
});
