/** What a run's screen and its log file say in special moments: resumed, with a wire larger than bf16, hidden by a screen. */

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { frame, speedPanel } from "../../../cli/observe/screen/panels.ts";
import { projectionConsumers } from "../../../cli/orchestrator/run/consumers.ts";
import { Projection } from "../../../cli/observe/projection/projection.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { openedView, sampleFacts } from "../../support/sample_run.ts";

const noPaint = createPaint(false);

Deno.test("Run screen: a resumed run shows its step before anybody is back", () => {
  const host = new FakeHost({ terminal: { columns: 80, rows: 30 } });
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  const run = new Projection({
    output,
    opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
    nowMs: () => 0,
    consumers: projectionConsumers,
  });
  run.tell({ type: "takenUp", step: 30, round: 3 });
  run.close();
  const last = frame(run.view, { width: 80, height: 30, nowMs: 0, paint: noPaint }).join("\n");
  assertMatch(last, /step {4}30 of 40/);
  assertStringIncludes(host.written.stdout, "30 of 40");
});

Deno.test("Screen: the wire is smaller or larger than bf16, in words", () => {
  const wireLine = (forwardBytes: number, backwardBytes: number) => {
    const view = openedView();
    view.wire = { forwardBytes, backwardBytes, bf16Bytes: 256 };
    return speedPanel(view, { width: 120, nowMs: 0, paint: noPaint })[0];
  };
  assertEquals(wireLine(32, 64), "wire    32 B/token forward, 64 back · 8x and 4x smaller than bf16 (256 B)");
  assertEquals(wireLine(512, 512), "wire    512 B/token forward, 512 back · 2x and 2x larger than bf16 (256 B)");
  assertEquals(wireLine(32, 512), "wire    32 B/token forward, 512 back · 8x smaller and 2x larger than bf16 (256 B)");
});

Deno.test("Log file: it gets the whole log while a screen is on, and with --quiet", () => {
  const ways = [{ terminal: { columns: 100, rows: 30 } }, { quiet: true }, {}];
  const logs = ways.map(({ terminal, quiet = false }) => {
    const host = new FakeHost(terminal === undefined ? {} : { terminal });
    const output = new TerminalOutput({ host, json: false, quiet, verbose: false, noColor: true });
    const lines: string[] = [];
    output.copyTo((line) => lines.push(line), { stampOf: () => "2026-11-21 14:03:07" });
    const run = new Projection({
      output,
      opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
      nowMs: () => 1_000,
      consumers: projectionConsumers,
    });
    run.tell({ type: "runStarted", step: 0, round: 0, stages: 2, miners: 2 });
    output.log.info("halfway");
    run.tell({ type: "noted", label: "chaos", text: "a miner was killed" });
    run.close();
    output.summary({ steps: 3 });
    output.close();
    return lines;
  });
  assertEquals(logs[0], [
    "2026-11-21 14:03:07    0:01  start    step 0, round 0, 2 stages, 2 miners",
    "2026-11-21 14:03:07 info  halfway",
    "2026-11-21 14:03:07    0:01  chaos    a miner was killed",
    "steps  3",
  ]);
  assertEquals(logs[1], logs[0]);
  assertEquals(logs[2], logs[0]);
});
