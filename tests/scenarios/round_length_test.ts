/** Rounds whose length follows from what steps and merges take. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { openInterval, stepsFor, timesOf } from "../../core/update/interval.ts";
import { renewInterval, stepsOfRound } from "../../core/orchestrator/merge/round_length.ts";
import { resolveConfig } from "../../core/settings/parse.ts";
import { commit, merging, reduceAll } from "../support/swarm/scripted_merge.ts";
import type { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

function trainWith(overrides: Record<string, number>) {
  const resolved = resolveConfig({ overrides: { "train.stepsPerRound": 0, ...overrides } });
  if (!resolved.ok) throw new Error(resolved.problems.map(({ text }) => text).join());
  return resolved.config.train;
}

/** Lengths of the next rounds while steps and merges take these times. */
function lengths(times: { stepMs: number; mergeMs: number }, from: number, overrides: Record<string, number> = {}) {
  const train = trainWith(overrides);
  const found = [from];
  for (let i = 0; i < 8; i++) found.push(stepsFor(times, { before: found.at(-1)!, train }));
  return found;
}

Deno.test("Round length: it grows until merges take a tenth of the time, at most doubling", () => {
  const found = lengths({ stepMs: 400, mergeMs: 772 }, 1);
  assertEquals(found, [1, 2, 4, 8, 16, 18, 18, 18, 18]);
  const share = (steps: number) => 772 / (772 + 400 * steps);
  assertEquals([share(18) <= 0.1, share(17) <= 0.1], [true, false]);
});

Deno.test("Round length: on a fast network every step is merged, and a long round shrinks by halves", () => {
  assertEquals(lengths({ stepMs: 10_000, mergeMs: 300 }, 20), [20, 10, 5, 3, 2, 1, 1, 1, 1]);
  assertEquals(lengths({ stepMs: 1, mergeMs: 0 }, 1).at(-1), 1);
});

Deno.test("Round length: neither slow links nor one absurd merge make it longer than the configuration allows", () => {
  assertEquals(lengths({ stepMs: 1, mergeMs: 1e12 }, 1), [1, 2, 4, 8, 16, 30, 30, 30, 30]);
  assertEquals(lengths({ stepMs: 1, mergeMs: 1e12 }, 1, { "train.mostStepsPerRound": 5 }).at(-1), 5);
  assertEquals(stepsFor({ stepMs: 1_000, mergeMs: 1e12 }, { before: 3, train: trainWith({}) }), 6);
  assertEquals(lengths({ stepMs: 1_000, mergeMs: 1_000 }, 1, { "train.mergeShare": 0.5 }).at(-1), 1);
});

Deno.test("Round length: what merging adds is without the optimizer's work, which the next round's first step lacks", () => {
  const steps = { ...openInterval(), closed: 5, stepsMs: 240 + 4 * 300, firstMs: 240 };
  assertEquals(timesOf(steps, 270), { stepMs: 300, mergeMs: 210 });
  assertEquals(timesOf({ ...openInterval(), closed: 1, stepsMs: 300, firstMs: 300 }, 270), {
    stepMs: 300,
    mergeMs: 270,
  });
});

Deno.test("Round length: a member that is late in all steps but the first does not make merges look free", () => {
  const late = { ...openInterval(), closed: 5, stepsMs: 1_000 + 4 * 5_500, firstMs: 1_000 };
  const times = timesOf(late, 4_000);
  assertEquals(times, { stepMs: 3_000, mergeMs: 2_000 });
  assertEquals(stepsFor(times, { before: 5, train: trainWith({}) }), 6);
});

Deno.test("Round length: a member that is late in first steps alone makes merges look twice as long at most", () => {
  const late = { ...openInterval(), closed: 5, stepsMs: 3_000 + 4 * 1_000, firstMs: 3_000 };
  assertEquals(timesOf(late, 300), { stepMs: 1_000, mergeMs: 600 });
  assertEquals(timesOf({ ...late, stepsMs: 1_200 + 4 * 1_000, firstMs: 1_200 }, 300), { stepMs: 1_000, mergeMs: 500 });
});

const measured = { train: { stepsPerRound: 0, microbatchesPerStep: 4 } };

/** Works and commits until a merge begins; each step takes `stepMs`, 400 of them for its four tasks. Returns how many it took. */
function trainRound(hub: ScriptedOrchestrator, nodes: readonly NodeId[], stepMs: number): number {
  const before = hub.state.step;
  while (hub.state.phase === "training") {
    hub.work(nodes, { taskMs: 100 });
    hub.wait(stepMs - 400);
    for (const node of nodes) hub.seal(node);
  }
  return hub.state.step - before;
}

function mergeIn(hub: ScriptedOrchestrator, nodes: readonly NodeId[], mergeMs: number): void {
  for (const node of nodes) commit(hub, node);
  hub.wait(mergeMs);
  reduceAll(hub, nodes);
  const round = hub.state.round + 1;
  const parameters = hub.blob(64);
  for (const node of nodes) hub.tell(node, { type: "mergeApplied", round, parameters, momentum: null });
  const uploader = hub.state.upload!.stages[0]!.asked as NodeId;
  hub.tell(uploader, { type: "parametersUploaded", round, parameters, momentum: null });
  hub.step({ type: "checkpointWritten", round, folder: "" });
}

Deno.test("Round length: the run's own steps and merges are measured, and the record tells the next length", () => {
  const { hub, nodes } = merging(2, measured);
  assertEquals([hub.state.step, hub.state.phase], [1, "merging"], "the first round has one step");
  mergeIn(hub, nodes, 2_000);
  const found: number[] = [];
  for (let round = 0; round < 5; round++) {
    found.push(trainRound(hub, nodes, 1_000));
    mergeIn(hub, nodes, 2_000);
  }
  assertEquals(found, [2, 4, 8, 16, 18]);
  const told = hub.records.flatMap((record) => record.type === "roundMerged" ? [record.nextSteps] : []);
  assertEquals(told.slice(0, 5), [2, 4, 8, 16, 18]);
});

Deno.test("Round length: the last round takes the steps left with it, if they are less than half of one and it may be so long", () => {
  const roundsOf = (steps: number, mostStepsPerRound = 30) => {
    const { hub, nodes } = merging(2, { train: { ...measured.train, steps, mostStepsPerRound } });
    const found = [1];
    while (found.reduce((sum, each) => sum + each) < steps) {
      mergeIn(hub, nodes, 2_000);
      found.push(trainRound(hub, nodes, 1_000));
    }
    return found;
  };
  assertEquals(roundsOf(18), [1, 2, 4, 11], "of 11 steps left 8 are a round");
  assertEquals(roundsOf(19), [1, 2, 4, 8, 4], "of 12 as well, and the 4 that are left another");
  assertEquals(roundsOf(18, 8), [1, 2, 4, 8, 3], "no longer than a round may be");
});

Deno.test("Round length: a merge that a restart interrupted measures nothing", () => {
  const { hub, nodes } = merging(2, measured);
  mergeIn(hub, nodes, 2_000);
  trainRound(hub, nodes, 1_000);
  hub.state.interval.steps = 4;
  hub.step({ type: "restarted", changes: [], lost: [] });
  renewInterval(hub.state, 1e9);
  assertEquals(stepsOfRound(hub.state), 4);
});

Deno.test("Round length: nor do the steps after the restart, while members come back; the round after it is measured", () => {
  const { hub, nodes } = merging(2, measured);
  mergeIn(hub, nodes, 2_000);
  hub.state.interval.steps = 4;
  hub.step({ type: "restarted", changes: [], lost: [] });
  const measure = () => Object.assign(hub.state.interval, { closed: 4, stepsMs: 4_000, firstMs: 1_000, closedMs: 0 });
  measure();
  renewInterval(hub.state, 60_000);
  assertEquals(stepsOfRound(hub.state), 4);
  measure();
  renewInterval(hub.state, 60_000);
  assertEquals(stepsOfRound(hub.state), 8);
});
