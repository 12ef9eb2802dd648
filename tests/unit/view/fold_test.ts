/** The fold of records into a view: any order is taken, the view is plain data, and it does not grow with the run. */

import { assert, assertEquals } from "@std/assert";
import { microbatchId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import { fold } from "../../../core/view/fold.ts";
import { emptyView, type RunView } from "../../../core/view/view.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
import { wholeView } from "../../../cli/observe/projection/log_line.ts";
import { viewProblem } from "../../../cli/observe/projection/view_shape.ts";
import { anyRecord } from "../../support/any_record.ts";
import { foldAt, openedView, sampleFacts, sampleMiners, sampleRun } from "../../support/sample_run.ts";
import { prngOf } from "../../support/small_prng.ts";
import { cases } from "../../support/whole.ts";

const copyOf = (view: RunView): RunView => JSON.parse(JSON.stringify(view));

Deno.test("View: at every moment of a run it survives JSON unchanged, and the copy folds on as the original", () => {
  const view = openedView();
  let copy = copyOf(view);
  for (const { record, atMs } of sampleRun(40)) {
    foldAt(view, record, atMs);
    copy = copyOf(copy);
    foldAt(copy, JSON.parse(JSON.stringify(record)), atMs);
    assertEquals(viewProblem(copy), null);
  }
  assertEquals(copy, view);
});

Deno.test("View: no order of records throws, in the fold or in what shows it", () => {
  for (let seed = 1; seed <= cases(60); seed++) {
    const pick = prngOf(seed);
    const view = openedView();
    const plain = createPlainLines();
    for (let i = 0; i < 400; i++) {
      const record = anyRecord(pick);
      foldAt(view, record, i);
      plain.of(record, view, i);
    }
    frame(view, { width: 80, height: 30, nowMs: 400, paint: createPaint(false) });
    assertEquals(viewProblem(view), null, `seed ${seed}`);
    assertEquals(copyOf(view), view, `seed ${seed}`);
    assertEquals([view.nodeCount, view.hopCount], [Object.keys(view.nodes).length, Object.keys(view.hops).length]);
    const inFlight = view.stages.flatMap(({ forward, backward }) => [forward, backward]);
    assert(inFlight.every((count) => count >= 0), `seed ${seed}: ${inFlight}`);
    assertEquals(inFlight.reduce((sum, count) => sum + count, 0), view.hopCount, `seed ${seed}`);
  }
});

Deno.test("View: what only another version knows changes nothing", () => {
  const view = openedView();
  const before = copyOf(view);
  foldAt(view, { type: "fromTheFuture", node: 3 } as never, 5);
  assertEquals(view, before);
});

Deno.test("View: a hundred thousand records of a long run take no more room than the first thousands", () => {
  const view = openedView();
  const sizeAfter = (records: number, from: number) => {
    for (let i = from; i < from + records; i++) runOn(view, i);
    return JSON.stringify(view).length;
  };
  const early = sizeAfter(20_000, 0);
  const late = sizeAfter(80_000, 20_000);
  assert(late < 1.2 * early, `${early} characters, then ${late}`);
});

/** Miners come and go for good, steps close, rounds merge. */
function runOn(view: RunView, i: number): void {
  const node = nodeId(`5Miner${i}`);
  const stage = stageIndex(i % 3);
  switch (i % 10) {
    case 0:
      return foldAt(view, { type: "nodeJoined", node, role: "miner", adapter: "x" }, i);
    case 1:
      return foldAt(view, {
        ...{ type: "nodeLost", node: nodeId(`5Miner${i - 1}`), reason: "gone", tasksReissued: 0, tasksKept: 0 },
      }, i);
    case 2: {
      const closed = { step: i, steps: 1e6, round: 0, loss: 1 / i, learningRate: 1, gradientNorm: 1, clipFactor: 1 };
      return foldAt(view, { type: "stepClosed", ...closed, tokens: 1, stepMs: 1 }, i);
    }
    case 3: {
      if (i % 1_000 !== 3) return;
      const stages = [{ stage, parameters: "", replicas: 2, agree: true }];
      return foldAt(view, { type: "roundMerged", round: i, stages, bytesPerMiner: 1, mergeMs: 1, draws: "" }, i);
    }
    case 4:
      return foldAt(view, { type: "warning", text: `number ${i}` }, i);
    default: {
      const microbatch = microbatchId(i);
      const task = taskId({ microbatch, stage, direction: "forward", attempt: 0 });
      const known = sampleMiners[i % 6]!;
      return foldAt(view, { type: "taskFinished", task, node: known, stage, direction: "forward", microbatch }, i);
    }
  }
}

Deno.test("View: more nodes and microbatches than a run may have are left out", () => {
  const view = openedView(sampleFacts);
  for (let i = 0; i < 70_000; i++) {
    foldAt(view, { type: "nodeJoined", node: nodeId(`5Miner${i}`), role: "miner", adapter: "x" }, i);
    const microbatch = microbatchId(i);
    const at = { stage: stageIndex(0), direction: "forward" as const, microbatch };
    foldAt(view, { type: "taskFinished", task: taskId({ ...at, attempt: 0 }), node: sampleMiners[0]!, ...at }, i);
  }
  assertEquals([view.nodeCount, view.hopCount], [2 ** 16, 2 ** 16]);
});

Deno.test("View: held-out losses lie at the step whose parameters they measure, and go when the run goes back", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(40)) foldAt(view, record, atMs);
  const steps = () => view.heldOut.map(({ step }) => step);
  assertEquals(steps(), [10, 20, 30, 40]);
  const validator = nodeId("5Validator");
  foldAt(view, { type: "evaluated", round: 3, validator, loss: 4.25, tokens: 1 }, 1); // late, and of a second validator
  assertEquals(view.heldOut[2], { round: 3, step: 30, loss: 4.25 });
  foldAt(view, { type: "evaluated", round: 77, validator, loss: 1, tokens: 1 }, 1);
  assertEquals(steps(), [10, 20, 30, 40]);
  foldAt(view, { type: "rewound", step: 40, toStep: 20, tokens: 0 }, 2);
  assertEquals(steps(), [10, 20]);
  const { record: merged } = sampleRun(10).find(({ record }) => record.type === "roundMerged")!;
  for (let round = 3; round < 3_000; round++) {
    view.step += 10;
    foldAt(view, { ...merged, round } as never, 3);
    foldAt(view, { type: "evaluated", round, validator, loss: 3, tokens: 1 }, 3);
  }
  assert(view.heldOut.length <= 128 && view.roundStarts.length <= 8);
  assertEquals([steps()[0], steps().at(-1)], [10, view.step]);
});

Deno.test("View: a validator is ready as soon as it joins, and a miner when it has its stage", () => {
  const view = openedView();
  const [miner, validator] = [nodeId("5Miner"), nodeId("5Validator")];
  foldAt(view, { type: "nodeJoined", node: miner, role: "miner", adapter: "" }, 1);
  foldAt(view, { type: "nodeJoined", node: validator, role: "validator", adapter: "" }, 1);
  assertEquals([view.nodes[miner]?.state, view.nodes[validator]?.state], ["loading", "ready"]);
  const nodes = [{ node: validator, role: "validator", stage: null, isReady: false }] as const;
  foldAt(view, { type: "takenUp", step: 3, round: 1, nodes }, 2);
  assertEquals(view.nodes[validator]?.state, "ready");
});

Deno.test("View: the owner's pause and a full disk are told apart, and a new process begins with neither", () => {
  const view = openedView();
  const act = (action: "pause" | "resume" | "rate") => foldAt(view, { type: "ownerActed", action }, 1);
  const paused = () => [view.isPaused, view.isPausedByOwner];
  act("pause");
  foldAt(view, { type: "runPaused", text: "full" }, 2);
  act("rate");
  assertEquals(paused(), [true, true]);
  foldAt(view, { type: "runContinued", pausedMs: 1 }, 3);
  assertEquals(paused(), [false, true]);
  act("resume");
  assertEquals(paused(), [false, false]);
  act("pause");
  foldAt(view, { type: "opened", facts: sampleFacts, startedAtMs: 0, step: 0 }, 4);
  assertEquals(paused(), [false, false]);
});

Deno.test("View: times of a run count from its first process, however often it was resumed", () => {
  const view = emptyView();
  for (const startedAtMs of [5_000, 90_000]) {
    fold(view, { record: { type: "opened", facts: sampleFacts, startedAtMs, step: 0 }, atMs: startedAtMs });
  }
  assertEquals([view.begunAtMs, view.startedAtMs], [5_000, 90_000]);
  const { begunAtMs: _, ...older } = view; // as an earlier version wrote it
  assertEquals(wholeView(older as RunView).begunAtMs, 90_000);
});
