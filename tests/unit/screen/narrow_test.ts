/** The live screen in a narrow window, and what it calls a run that was stopped. */

import { assertEquals, assertMatch } from "@std/assert";
import { nodeId, stageIndex } from "../../../core/ids.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { newsLine } from "../../../cli/observe/screen/news_words.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
import { LiveTerminal } from "../../../cli/terminal/output/terminal.ts";
import { foldAt, openedView, sampleFacts } from "../../support/sample_run.ts";

const noPaint = createPaint(false);

Deno.test("Screen: in a window of 40 columns the clock, the miners and an unserved stage are whole", () => {
  const view = openedView({ ...sampleFacts, layersOfStages: [2, 2] });
  for (const node of ["5Grwva1", "5Grwva2"].map(nodeId)) {
    foldAt(view, { type: "nodeJoined", node, role: "miner", adapter: "x" }, 0);
    foldAt(view, { type: "nodeReady", node, stage: stageIndex(0), round: 0, parameters: "" }, 0);
    for (let i = 0; i < 3; i++) view.nodes[node]!.tasks += 5_000;
  }
  const terminal = new LiveTerminal({ write: () => {}, size: () => ({ columns: 40, rows: 30 }) });
  const { width } = terminal.room();
  assertEquals(width, 39); // the cursor clears the last column
  const lines = frame(view, { width, height: 29, nowMs: view.startedAtMs + 12_000, paint: noPaint });
  assertMatch(lines[0]!, / 0:12$/);
  const lanes = lines.filter((line) => /^[01] /.test(line));
  assertMatch(lanes[0]!, / 2 of 2$/);
  assertMatch(lanes[1]!, / nobody$/);
});

Deno.test("Screen: a run that was stopped is not called finished", () => {
  for (const [finished, phase] of [[false, "stopped"], [true, "finished"]] as const) {
    const view = openedView();
    const record = { type: "runFinished", step: 0, finished, reason: "interrupted" } as const;
    foldAt(view, record, 0);
    const [step] = frame(view, { width: 80, height: 30, nowMs: 0, paint: noPaint }).filter((line) =>
      /^step/.test(line)
    );
    assertMatch(step!, new RegExp(` ${phase}$`));
    assertEquals(newsLine(record).text, `run ${finished ? "ended" : "stopped"} at step 0: interrupted`);
    assertMatch(createPlainLines().of(record, view, 0)[0]!, finished ? / end {6}step 0/ : / stop {5}step 0/);
  }
});

Deno.test("Screen: a result that came late is explained, and is not a warning", () => {
  const detail = "1110.2.turnaround.1 was given to another or its step has closed";
  const seen = { type: "faultSeen", node: nodeId("5Grwva1"), detail } as const;
  const late = newsLine({ ...seen, code: "staleResult" });
  assertEquals(late, { level: "info", text: `5Grwva1: an answer came late, which costs nothing: ${detail}` });
  assertEquals(newsLine({ ...seen, code: "badNumbers" }), { level: "warn", text: `5Grwva1: ${detail}` });
});
