/** Samples of the text in the view: their losses, their number, and runs that go back. */

import { assert, assertEquals } from "@std/assert";
import { stageIndex } from "../../../core/ids.ts";
import type { RunView } from "../../../core/view/view.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { frame, textPanel } from "../../../cli/observe/screen/panels.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { foldAt, openedView, sampleValidator } from "../../support/sample_run.ts";

const paint = createPaint(false);

function sampleAt(view: RunView, step: number, text = ` at ${step}`): void {
  foldAt(view, { type: "textSampled", round: step / 10, step, prompt: "The", text, tokens: 4 }, step);
}

function mergeAt(view: RunView, step: number): void {
  view.step = step;
  const stages = [{ stage: stageIndex(0), parameters: "", replicas: 1, agree: true }];
  foldAt(view, { type: "roundMerged", round: step / 10, stages, bytesPerMiner: 1, mergeMs: 1, draws: "" }, step);
}

function evaluateAt(view: RunView, step: number, loss: number): void {
  foldAt(view, { type: "evaluated", round: step / 10, validator: sampleValidator, loss, tokens: 9 }, step);
}

Deno.test("Samples of the view: the round's held-out loss comes before the sample or after it", () => {
  const view = openedView();
  mergeAt(view, 10);
  evaluateAt(view, 10, 5.5);
  sampleAt(view, 10);
  mergeAt(view, 20);
  sampleAt(view, 20);
  assertEquals(view.samples.map(({ loss }) => loss), [5.5, null]);
  evaluateAt(view, 20, 5.1);
  evaluateAt(view, 20, Infinity);
  assertEquals(view.samples.map(({ loss }) => loss), [5.5, 5.1]);
});

Deno.test("Samples of the view: of a long run a few stay, the first and the newest among them", () => {
  const view = openedView();
  for (let step = 10; step <= 10_000; step += 10) {
    sampleAt(view, step, "x".repeat(5_000));
    assert(view.samples.length <= 8);
    assertEquals([view.samples[0]!.step, view.samples.at(-1)!.step], [10, step]);
  }
  assert(JSON.stringify(view.samples).length < 8 * 2_200);
  const [first] = runSnapshot(view, { sequence: 1, atMs: 1 }).run.samples;
  assertEquals([first!.text.length, first!.prompt], [1_024, "The"]);
});

Deno.test("Samples of the view: a run that goes back forgets what came after", () => {
  const view = openedView();
  for (const step of [10, 20, 30]) sampleAt(view, step);
  foldAt(view, { type: "mergeRetaken", because: "lossJumped", round: 3, step: 20, tokens: 1, suspects: [] }, 40);
  assertEquals(view.samples.map(({ step }) => step), [10, 20]);
  foldAt(view, { type: "rewound", step: 21, toStep: 10, tokens: 1 }, 41);
  assertEquals(view.samples.map(({ step }) => step), [10]);
});

Deno.test("Samples of the view: the screen has the newest on one line, cut and harmless", () => {
  const view = openedView();
  assertEquals(textPanel(view, { width: 60, nowMs: 0, paint }), []);
  sampleAt(view, 10, ` of\nthe \u001b[31m${"union ".repeat(40)}`);
  const linesOf = (height: number) =>
    frame(view, { width: 60, height, nowMs: 0, paint }).filter((line) => /^text/.test(line));
  assertEquals([linesOf(30).length, linesOf(19).length], [1, 0]);
  const [line] = textPanel(view, { width: 60, nowMs: 0, paint });
  assertEquals(line!.length, 60);
  assert(line!.startsWith("text    step 10: The of the \ufffd[31munion union"), line);
});
