/** The curves of a run by step, the pace of its miners, and where the page draws them. */

import { assert, assertEquals } from "@std/assert";
import { columnsOf } from "../../../cli/observe/dashboard/page/curves/curve_chart.ts";
import { reachOf } from "../../../cli/observe/dashboard/page/curves/effect_chart.ts";
import { trainPoints } from "../../../cli/observe/dashboard/page/curves/loss_chart.ts";
import { dotPlaces } from "../../../cli/observe/dashboard/page/pipeline/flight.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { viewProblem } from "../../../cli/observe/projection/view_shape.ts";
import { microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { dropLast, emptySeries, lengthOf, meanOf, pushSeries } from "../../../core/view/series.ts";
import type { RunView } from "../../../core/view/view.ts";
import { foldAt, openedView, sampleMiners, sampleRun } from "../../support/sample_run.ts";

const step = (view: RunView, { number, atMs, loss = number }: { number: number; atMs: number; loss?: number }) =>
  foldAt(view, {
    ...{ type: "stepClosed", step: number, steps: 40, round: 0, loss, learningRate: 1, gradientNorm: 1 },
    ...{ clipFactor: 1, tokens: 1_000, stepMs: 100 },
  }, atMs);

Deno.test("Series: the last measurements can be taken away, also out of a value that stands for several", () => {
  for (const count of [0, 1, 5, 17, 64, 100]) {
    const series = emptySeries();
    for (let i = 0; i < 100; i++) pushSeries(series, i, 16);
    assertEquals(lengthOf(series), 100);
    dropLast(series, count);
    assertEquals(lengthOf(series), 100 - count);
    const exact = (99 - count) / 2; // the mean of 0 to 99 - count
    const mean = meanOf(series);
    assert(count === 100 ? mean === null : Math.abs(mean! - exact) <= series.stride, `${mean} for ${exact}`);
    for (let i = 100 - count; i < 100; i++) pushSeries(series, i, 16);
    assertEquals(lengthOf(series), 100);
  }
  const gap = emptySeries();
  for (const value of [1, null, 3]) pushSeries(gap, value);
  assertEquals(meanOf(gap), 2);
  dropLast(gap, 1);
  assertEquals(gap.values, [1, null]);
});

Deno.test("Curves: each closed step has its speed, ready miners and bytes for a token, merges included", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(1)) foldAt(view, record, atMs);
  const before = view.recentSteps.at(-1)!.closedAtMs;
  foldAt(view, { type: "bytesMoved", wires: 16_000, merge: 0, parameters: 0, control: 500 }, before);
  foldAt(view, { type: "bytesMoved", wires: 4_000, merge: 9_000, parameters: 1_000, control: 500 }, before);
  step(view, { number: 2, atMs: before + 500 });
  step(view, { number: 3, atMs: before + 500 }); // in the same millisecond, and nobody has counted bytes
  const { curves, bytes } = runSnapshot(view, { sequence: 1, atMs: 1 }).run;
  assertEquals(curves.tokensPerSecond.slice(1), [2_000, null]);
  assertEquals(curves.miners, [6, 6, 6]);
  assertEquals(curves.bytesPerToken, {
    ...{ wires: [null, 20, null], merge: [null, 9, null], parameters: [null, 1, null], control: [null, 1, null] },
  });
  assertEquals(bytes, { wires: 20_000, merge: 9_000, parameters: 1_000, control: 1_000 });
});

Deno.test("Curves: numbers that cannot be count for nothing", () => {
  const view = openedView();
  foldAt(view, { type: "bytesMoved", wires: -5, merge: NaN, parameters: Infinity, control: 7 }, 1);
  step(view, { number: 1, atMs: 10 });
  assertEquals(view.bytes, { wires: 0, merge: 0, parameters: 0, control: 7 });
  assertEquals(JSON.parse(JSON.stringify(view.curves)), view.curves);
});

Deno.test("View: numbers beyond all sums, from a damaged log, leave a view that survives JSON", () => {
  const view = openedView();
  const node = sampleMiners[0]!;
  const task = taskId({ microbatch: microbatchId(0), stage: stageIndex(0), direction: "forward", attempt: 0 });
  for (let i = 1; i <= 600; i++) {
    foldAt(view, { type: "bytesMoved", wires: 1e308, merge: 1e308, parameters: 1e308, control: 1e308 }, i);
    foldAt(view, {
      ...{ type: "taskFinished", task, node, stage: stageIndex(0), microbatch: microbatchId(0), direction: "forward" },
      ...{ sentMs: 0, tookMs: 1e308, computeMs: 1e308 },
    }, i);
    step(view, { number: i, atMs: i, loss: 1e308 });
  }
  assertEquals(JSON.parse(JSON.stringify(view)), view);
  assertEquals(viewProblem(JSON.parse(JSON.stringify(view))), null);
});

Deno.test("Curves: a run that goes back loses the steps it took back, and every curve still ends at its step", () => {
  const view = openedView();
  for (let i = 1; i <= 30; i++) step(view, { number: i, atMs: 100 * i });
  foldAt(view, { type: "rewound", step: 30, toStep: 20, tokens: 10_000 }, 3_100);
  step(view, { number: 21, atMs: 3_200, loss: 2.5 });
  const { run } = runSnapshot(view, { sequence: 1, atMs: 1 });
  const points = trainPoints(run);
  assertEquals([points[0], points[19], points.at(-1)], [
    ...[{ step: 1, loss: 1 }, { step: 20, loss: 20 }, { step: 21, loss: 2.5 }],
  ]);
  assertEquals([run.curves.miners.length, run.curves.tokensPerSecond.length], [21, 21]);
});

Deno.test("Pace: what a miner's tasks take changes once in a while, and records without times change nothing", () => {
  const view = openedView();
  const node = sampleMiners[0]!;
  const task = taskId({ microbatch: microbatchId(0), stage: stageIndex(0), direction: "forward", attempt: 0 });
  const finish = (tookMs: number, computeMs: number) =>
    foldAt(view, {
      ...{ type: "taskFinished", task, node, stage: stageIndex(0), microbatch: microbatchId(0), direction: "forward" },
      ...{ sentMs: 0, tookMs, computeMs },
    }, 1);
  finish(NaN, 1);
  finish(-1, 1);
  assertEquals(view.nodes[node]!.pace, null);
  finish(100, 60);
  assertEquals(view.nodes[node]!.pace, { tookMs: 100, computeMs: 60, leastAwayMs: 40 });
  for (let i = 0; i < 30; i++) finish(200, 60);
  assertEquals(view.nodes[node]!.pace!.tookMs, 100);
  finish(200, 900); // it cannot compute for longer than the task took
  assertEquals(view.nodes[node]!.pace, { tookMs: 197, computeMs: 64, leastAwayMs: 0 });
});

Deno.test("Dots of microbatches: side by side in their lane, never outside their stage, however many", () => {
  const flight = Array.from({ length: 32 }, (_, i) => ({
    microbatch: i,
    stage: i % 4,
    direction: i % 3 === 0 ? "backward" as const : "forward" as const,
  }));
  for (const width of [160, 340, 1_100]) {
    const places = dotPlaces(flight, { stages: 3, width });
    assertEquals(places.size, 24); // no fourth stage
    for (const { microbatch, stage } of flight.slice(0, 24)) {
      const place = places.get(microbatch);
      if (place !== undefined) assertEquals(Math.floor(place.x / (width / 3)), stage);
    }
  }
});

Deno.test("Columns: neighbouring steps are averaged where there are more than fit, and gaps are not zeros", () => {
  assertEquals(columnsOf([[1, 3, null, 5], [0, 0, null, null]], 2), { width: 2, columns: [[2, 0], [5, null]] });
  assertEquals(columnsOf([[], []], 2), { width: 1, columns: [] });
});

Deno.test("Effects: the axis holds every error bar, and a hundredth of a nat at least", () => {
  const effect = { stage: 0, samples: 9, effect: -0.2, standardError: 0.1 };
  assert(reachOf([effect]) > 0.4 && reachOf([]) >= 0.01 && reachOf([{ ...effect, standardError: null }]) < 0.3);
});
