/** The ways of microbatches: in the view, from the log, at the port, and as the page orders them. */

import { assert, assertEquals } from "@std/assert";
import { slowestOf, wayOf } from "../../../cli/observe/dashboard/page/microbatch/way.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { pastOf } from "../../../cli/observe/history/past.ts";
import { PastThread } from "../../../cli/observe/history/past_thread.ts";
import { type Direction, microbatchId, type NodeId, stageIndex, taskId } from "../../../core/ids.ts";
import type { RunView } from "../../../core/view/view.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { recordRun } from "../../support/record_folder.ts";
import { foldAt, openedView, sampleFacts, sampleMiners, sampleRun } from "../../support/sample_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { isWhole } from "../../support/whole.ts";

interface Done {
  readonly microbatch: number;
  readonly stage?: number;
  readonly direction?: Direction;
  readonly attempt?: number;
  readonly node?: NodeId;
}

function finished({ microbatch, stage = 0, direction = "forward", attempt = 0, node = sampleMiners[0]! }: Done) {
  const at = { microbatch: microbatchId(microbatch), stage: stageIndex(stage), direction };
  const times = { sentMs: 5, tookMs: 20, computeMs: 12 };
  return { type: "taskFinished", task: taskId({ ...at, attempt }), node, ...at, ...times } as const;
}

function closeStep(view: RunView, step: number): void {
  const numbers = { loss: 1, learningRate: 1, gradientNorm: 1, clipFactor: 1, tokens: 1, stepMs: 1 };
  foldAt(view, { type: "stepClosed", step, steps: 40, round: 0, ...numbers }, step);
}

const followed = (view: RunView) => view.pathways.closed.map(({ microbatch }) => microbatch);

Deno.test("Pathways: those of the last closed step are kept, with a repeated task in place of the earlier one", () => {
  const view = openedView();
  foldAt(view, finished({ microbatch: 0 }), 1);
  foldAt(view, finished({ microbatch: 0, attempt: 1_002, node: sampleMiners[1]! }), 2);
  foldAt(view, { ...finished({ microbatch: 1 }), computeMs: 9e9 }, 3);
  assertEquals(followed(view), []);
  closeStep(view, 1);
  const [first, second] = view.pathways.closed;
  assertEquals([first?.step, first?.hops.length, second?.hops[0]?.computeMs], [1, 1, 20]);
  assertEquals([first?.hops[0]?.node, first?.hops[0]?.attempt], [sampleMiners[1], 2]);
  foldAt(view, finished({ microbatch: 2 }), 4);
  assertEquals([followed(view), view.pathways.open.length], [[0, 1], 1]);
  foldAt(view, { type: "rewound", step: 1, toStep: 0, tokens: 1 }, 5);
  assertEquals(view.pathways.open, []);
});

Deno.test("Pathways: of many microbatches some are followed, evenly over the step's data, whatever the pipeline's length", () => {
  for (const stages of isWhole ? [1, 3, 20, 200] : [1, 3, 20]) {
    const view = openedView({ ...sampleFacts, layersOfStages: Array.from({ length: stages }, () => 1) });
    for (const step of [1, 2]) {
      for (let i = 0; i < 4_096; i++) {
        const microbatch = (step - 1) * 4_096 + i;
        for (let stage = 0; stage < stages; stage++) foldAt(view, finished({ microbatch, stage }), step);
      }
      closeStep(view, step);
    }
    const [first = 0, ...others] = followed(view);
    const last = others.at(-1) ?? first;
    assertEquals(followed(view).length, { 1: 8, 3: 8, 20: 1, 200: 1 }[stages]);
    assertEquals(last - first >= 4_096 * 0.8, stages < 20);
    const bytes = JSON.stringify(runSnapshot(view, { sequence: 1, atMs: 1 }).run.pathways).length;
    assert(bytes < 64_000, `${bytes} bytes`);
  }
});

Deno.test("Pathways: records without times, or with impossible ones, are not tasks of a pathway", () => {
  const view = openedView();
  const { sentMs: _, ...older } = finished({ microbatch: 0 });
  for (
    const record of [older, { ...finished({ microbatch: 1 }), tookMs: NaN }, finished({ microbatch: 2, stage: 9 })]
  ) {
    foldAt(view, record, 1);
  }
  closeStep(view, 1);
  assertEquals(followed(view), []);
});

Deno.test("Pathways: any microbatch's way is found in the log, its last one if it was done again", async () => {
  await withScratchFolder(async (folder) => {
    const again = [
      { type: "rewound", step: 40, toStep: 0, tokens: 1 },
      finished({ microbatch: 7, node: sampleMiners[5]! }),
    ] as const;
    await recordRun(folder, { fileBytes: 40_000, more: again });
    const view = openedView();
    for (const { record, atMs } of sampleRun(35)) foldAt(view, record, atMs);
    const past = pastOf(folder);
    const thread = new PastThread(folder, new ManualTimers());
    for (const expected of view.pathways.closed) {
      assertEquals(JSON.parse((await past.pathway(expected.microbatch))!), expected);
      assertEquals(await thread.pathway(expected.microbatch), await past.pathway(expected.microbatch));
    }
    const seventh = JSON.parse((await past.pathway(7))!);
    assertEquals([seventh.step, seventh.hops.length, seventh.hops[0].node], [null, 1, sampleMiners[5]]);
    assertEquals(await past.pathway(1_000), null);
    thread.close();
    past.close();
  });
});

Deno.test("Pathways: the page puts tasks in the pipeline's order, and says how long each waited", () => {
  const hop = (stage: number, direction: Direction, sentMs: number, tookMs: number) => (
    { node: sampleMiners[stage]!, stage, direction, attempt: 0, sentMs, tookMs, computeMs: tookMs }
  );
  const hops = [
    hop(0, "backward", 95, 5),
    hop(1, "backward", 70, 20),
    hop(2, "turnaround", 40, 30),
    hop(0, "forward", 10, 10),
    hop(1, "forward", 25, 10),
  ];
  const way = wayOf({ microbatch: 3, step: 1, hops });
  assertEquals(way.map(({ stage, waitedMs }) => [stage, waitedMs]), [[0, 10], [1, 5], [2, 5], [1, 0], [0, 5]]);
  const quick = { microbatch: 4, step: 1, hops: [hop(0, "forward", 500, 10)] };
  assertEquals(slowestOf([quick, { microbatch: 3, step: 1, hops }])?.microbatch, 3);
  assertEquals([wayOf({ microbatch: 1, step: null, hops: [] }), slowestOf([])], [[], null]);
});
