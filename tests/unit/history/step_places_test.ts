/** Where each step was closed: the moment before the next one, runs that go back, other logs, long runs. */

import { assert, assertEquals } from "@std/assert";
import { StepPlaces } from "../../../cli/observe/history/step_places.ts";
import type { ViewRecord } from "../../../core/view/view_record.ts";

function logged(): { places: StepPlaces; add: (record: ViewRecord) => void } {
  const places = new StepPlaces();
  let sequence = 0;
  return { places, add: (record) => places.take({ sequence: ++sequence, atMs: 0, record }) };
}

const closed = (step: number): ViewRecord => ({
  ...{ type: "stepClosed", step, steps: 99, round: 0, loss: 1, learningRate: 1, gradientNorm: 1, clipFactor: 1 },
  ...{ tokens: 1, stepMs: 1 },
});
const other: ViewRecord = { type: "warning", text: "" };

Deno.test("Step places: a step lasts until the next one closes", () => {
  const { places, add } = logged();
  assertEquals(places.sequenceOf(3), 0);
  for (const record of [other, closed(1), other, closed(2), other, other]) add(record);
  assertEquals([0, 1, 2, 50].map((step) => places.sequenceOf(step)), [1, 3, 6, 6]);
});

Deno.test("Step places: a run that goes back is shown as it went on", () => {
  const { places, add } = logged();
  for (const step of [1, 2, 3, 4]) add(closed(step));
  add({ type: "rewound", step: 4, toStep: 2, tokens: 1 });
  assertEquals([1, 2, 3].map((step) => places.sequenceOf(step)), [1, 5, 5]);
  add(closed(3));
  add({ type: "mergeRetaken", because: "lossJumped", round: 0, step: 1, tokens: 1, suspects: [] });
  add(closed(2));
  assertEquals([1, 2, 3].map((step) => places.sequenceOf(step)), [7, 8, 8]);
});

Deno.test("Step places: another log in the folder begins anew", () => {
  const { places, add } = logged();
  for (const step of [1, 2, 3]) add(closed(step));
  places.take({ sequence: 1, atMs: 0, record: closed(1) });
  assertEquals([0, 1, 9].map((step) => places.sequenceOf(step)), [0, 1, 1]);
});

Deno.test("Step places: of a very long run, neighbouring steps share a moment", () => {
  const { places, add } = logged();
  const steps = 200_000;
  for (let step = 1; step <= steps; step++) add(closed(step));
  for (const step of [1, 777, 99_999, steps]) {
    const sequence = places.sequenceOf(step);
    assert(sequence >= step && sequence < step + 8, `${step}: ${sequence}`);
  }
});
