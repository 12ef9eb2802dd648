/** The live screen and the plain lines, drawn from one invented run; the pictures are in __snapshots__ (update: deno test -u). */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { nodeId, stageIndex } from "../../../core/ids.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import {
  bar,
  byteSize,
  clock,
  cut,
  decimal,
  duration,
  printable,
  roughly,
  short,
  shortAddress,
  sparkline,
  visibleWidth,
} from "../../../cli/terminal/text/format.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
import { newsLine } from "../../../cli/observe/screen/news_words.ts";
import { projectionConsumers } from "../../../cli/orchestrator/run/consumers.ts";
import { Projection } from "../../../cli/observe/projection/projection.ts";
import { emptySeries, pushSeries } from "../../../core/view/series.ts";
import { LiveTerminal } from "../../../cli/terminal/output/terminal.ts";
import { remainingMs, type RunView, tokensPerSecond } from "../../../core/view/view.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { foldAt, openedView, sampleFacts, sampleMiners, sampleRun } from "../../support/sample_run.ts";

/** Beside this file, also when its tests run with those of others. */
const snapshots = { path: new URL("./__snapshots__/screen_test.ts.snap", import.meta.url).pathname };

const noPaint = createPaint(false);

/** The view after `steps` steps, `before` records earlier, and the time of its last record. */
function viewAfter(steps: number, before = 0): { view: RunView; nowMs: number } {
  const view = openedView();
  const records = sampleRun(steps);
  const shown = records.slice(0, records.length - before);
  for (const { record, atMs } of shown) foldAt(view, record, atMs);
  return { view, nowMs: shown.at(-1)?.atMs ?? 0 };
}

const moments = [
  { name: "nothing yet", steps: 0, before: sampleRun(0).length },
  { name: "miners arriving", steps: 0, before: 14 },
  { name: "microbatches in flight", steps: 5, before: 12 },
  { name: "merging", steps: 20, before: 9 },
  { name: "a miner lost", steps: 28, before: 3 },
  { name: "a failed verdict, the end", steps: 40, before: 0 },
];

for (const width of [60, 80, 120]) {
  Deno.test(`Screen: the frame at ${width} columns`, async (t) => {
    for (const { name, steps, before } of moments) {
      const { view, nowMs } = viewAfter(steps, before);
      if (steps >= 20) view.wire = { forwardBytes: 33.2, backwardBytes: 66.1, bf16Bytes: 512 };
      if (steps >= 28) view.chain = { block: 163, weightsSet: 12, epochs: 16, minersRao: "49198765432" };
      const lines = frame(view, { width, height: 30, nowMs, paint: noPaint });
      for (const line of lines) assert(visibleWidth(line) <= width, `${name}: ${line}`);
      await t.assertSnapshot(`${name}\n${lines.join("\n")}`, snapshots);
    }
  });
}

Deno.test("Screen: colours change no position", () => {
  const { view, nowMs } = viewAfter(40);
  const plain = frame(view, { width: 80, height: 30, nowMs, paint: noPaint });
  const painted = frame(view, { width: 80, height: 30, nowMs, paint: createPaint(true) });
  assert(painted.some((line) => line.includes("\x1b[")));
  // deno-lint-ignore no-control-regex -- colours are escape sequences
  assertEquals(painted.map((line) => line.replace(/\x1b\[[0-9;]*m/g, "")), plain);
});

Deno.test("Screen: a frame never exceeds its window", () => {
  const { view, nowMs } = viewAfter(40);
  for (const width of [39, 60, 200]) {
    for (let height = 0; height <= 30; height++) {
      const lines = frame(view, { width, height, nowMs, paint: noPaint });
      assert(lines.length <= height);
      for (const line of lines) assert(visibleWidth(line) <= width, `${width}: ${line}`);
    }
  }
});

Deno.test("Screen: many stages and many miners end in counts, not in overflow", () => {
  const view = openedView({ ...sampleFacts, layersOfStages: Array.from({ length: 40 }, () => 2) });
  for (let i = 0; i < 900; i++) {
    const node = nodeId(`5Grwva${i}`);
    foldAt(view, { type: "nodeJoined", node, role: "miner", adapter: "x" }, 0);
    foldAt(view, { type: "nodeReady", node, stage: stageIndex(i % 40), round: 0, parameters: "" }, 0);
  }
  const lines = frame(view, { width: 60, height: 20, nowMs: 0, paint: noPaint });
  assertEquals(lines.length, 20);
  assertStringIncludes(lines.at(-1)!, "and 27 more stages");
  assertStringIncludes(lines.at(-2)!, "23 of 23 ready, 0 tasks");
});

Deno.test("Screen: the plain lines of a run", async (t) => {
  const view = openedView();
  const plain = createPlainLines();
  const lines = sampleRun(40).flatMap(({ record, atMs }) => {
    foldAt(view, record, atMs);
    return plain.of(record, view, atMs);
  });
  await t.assertSnapshot(lines.join("\n"), snapshots);
});

Deno.test("Screen: fast steps say one line a second, the last one always", () => {
  const view = openedView();
  const plain = createPlainLines();
  const steps = sampleRun(40).map(({ record }) => record).filter((record) => record.type === "stepClosed");
  const spoken = steps.flatMap((record, i) => plain.of(record, view, i * 100));
  assertEquals(spoken.length, 5); // at 0, 1, 2, 3 s, and step 40
  assertStringIncludes(spoken.at(-1)!, "40/40");
});

Deno.test("Screen: foreign text is made harmless before it is shown", () => {
  const view = openedView();
  const record = { type: "warning", text: "bad \x1b[2J\nnews" } as const;
  foldAt(view, record, 0);
  assertEquals(newsLine(view.news[0]!.record).text, "bad \ufffd[2J · news");
  assertEquals(createPlainLines().of(record, view, 0), ["   0:00  warning  bad \ufffd[2J · news"]);
});

Deno.test("View: a finished forward waits at the next stage until its backward is done", () => {
  const { view } = viewAfter(0);
  const task = sampleRun(1).flatMap(({ record }) => record.type === "taskFinished" ? [record] : []);
  const flight = () => view.stages.map(({ forward, backward }) => `${forward}/${backward}`).join(" ");
  const expected = ["0/0 1/0 0/0", "0/0 0/0 1/0", "0/0 0/1 0/0", "0/1 0/0 0/0", "0/0 0/0 0/0"];
  for (const [i, record] of task.slice(0, 5).entries()) {
    foldAt(view, record, 0);
    assertEquals(flight(), expected[i]!, record.task);
  }
});

Deno.test("View: a lost miner stays marked until the next merge", () => {
  assertEquals(viewAfter(24).view.nodes[sampleMiners[3]!]?.state, "lost");
  assertEquals(sampleMiners[3]! in viewAfter(30).view.nodes, false);
});

Deno.test("View: speed comes from closed steps, the estimate from this session's pace", () => {
  const { view, nowMs } = viewAfter(10);
  const closed = sampleRun(10).filter(({ record }) => record.type === "stepClosed").map(({ atMs }) => atMs);
  assertEquals(tokensPerSecond(view), (10 * 2_048 * 1_000) / (closed.at(-1)! - view.trainingSinceMs!));
  assertEquals(remainingMs(view, nowMs), ((nowMs - view.trainingSinceMs!) / 10) * 30);
  const { view: fresh } = viewAfter(1);
  assertEquals(remainingMs(fresh, 10_000), null);
  const { view: done, nowMs: endMs } = viewAfter(40);
  assertEquals(remainingMs(done, endMs), null);
});

Deno.test("View: a resumed run is not credited with the steps before it", () => {
  const view = openedView();
  foldAt(view, { type: "runStarted", step: 20, round: 2, stages: 3, miners: 6 }, 1_000);
  assertEquals([view.step, view.round, remainingMs(view, 2_000)], [20, 2, null]);
});

Deno.test("Series: a long curve keeps its ends in bounded memory", () => {
  const series = emptySeries();
  for (let i = 0; i < 100_000; i++) pushSeries(series, i);
  assert(series.values.length <= 512);
  assert(series.values[0]! < 200 && series.values.at(-1)! > 99_000);
  assertEquals(series.values.every((value, i) => i === 0 || value! > series.values[i - 1]!), true);
});

Deno.test("Format: numbers keep their units and no more digits than they deserve", () => {
  const durations = [0, 850, 4_180, 59_960, 187_000, 7_500_000, 270_000_000, NaN].map(duration);
  assertEquals(durations, ["0 ms", "850 ms", "4.2 s", "1 m 00 s", "3 m 07 s", "2 h 05 m", "3 d 03 h", "–"]);
  assertEquals([400, 61_000, 720_000, 12_600_000, 190_000_000].map(roughly), [
    "1 s",
    "61 s",
    "12 min",
    "3.5 h",
    "2.2 days",
  ]);
  assertEquals([7_000, 754_000, 11_045_000].map(clock), ["0:07", "12:34", "3:04:05"]);
  assertEquals([0, 512, 1_023, 1_024, 1_572_864, 5e12].map(byteSize), [
    "0 B",
    "512 B",
    "1,023 B",
    "1.0 KiB",
    "1.5 MiB",
    "4.5 TiB",
  ]);
  assertEquals([0, 7.25, 33, 33.26, 1_234.5, 4_100_000, 0.0123, 2.6e-7, Infinity].map(decimal), [
    "0",
    "7.25",
    "33",
    "33.3",
    "1,235",
    "4,100,000",
    "0.0123",
    "2.6e-7",
    "–",
  ]);
  assertEquals([987, 9_999, 12_345, 4_100_000, 2e9].map(short), ["987", "9,999", "12.3k", "4.1M", "2.0G"]);
  assertEquals(shortAddress(sampleMiners[0]!), "5Grwva…utQY");
});

Deno.test("Format: curves and bars are as wide as asked, whatever they are given", () => {
  assertEquals(sparkline([1, 2, 3, 8], 10), "▁▂▃█");
  assertEquals(sparkline([5, 5], 10), "▁▁");
  assertEquals(sparkline([1, NaN, 8], 10), "▁ █");
  assertEquals(sparkline([], 10), "");
  assertEquals([...sparkline(Array.from({ length: 1_000 }, (_, i) => i), 20)].length, 20);
  assertEquals([bar(0, 4), bar(0.5, 4), bar(1, 4), bar(7, 4), bar(NaN, 4)], ["░░░░", "██░░", "████", "████", "░░░░"]);
  assertEquals([cut("abcdef", 4), cut("abc", 4), cut("abc", 1), cut("abc", 0)], ["abc…", "abc", "…", ""]);
  assertEquals(printable("a\u0000b\u202ec"), "a\ufffdb\ufffdc");
});

/** A terminal that records its input and the visible result: enough of the escape codes to check the drawing. */
class TinyTerminal {
  sent = "";
  rows: string[] = [""];
  #row = 0;
  #column = 0;

  write(text: string): void {
    this.sent += text;
    // deno-lint-ignore no-control-regex -- a terminal's language
    for (const [token] of text.matchAll(/\x1b\[[?0-9;]*[A-Za-z]|\n|\r|[^\x1b\n\r]/gu)) this.#token(token);
  }

  #token(token: string): void {
    // deno-lint-ignore no-control-regex -- as above
    const up = /^\x1b\[(\d+)A$/.exec(token);
    if (up !== null) this.#row -= Number(up[1]);
    else if (token === "\r") this.#column = 0;
    else if (token === "\n") [this.#row, this.#column] = [this.#row + 1, 0];
    else if (token === "\x1b[K") this.rows[this.#row] = this.rows[this.#row]!.slice(0, this.#column);
    else if (token === "\x1b[J") {
      this.rows.length = this.#row + 1;
      this.rows[this.#row] = this.rows[this.#row]!.slice(0, this.#column);
    } else if (!token.startsWith("\x1b")) {
      const row = this.rows[this.#row]!.padEnd(this.#column);
      this.rows[this.#row] = row.slice(0, this.#column) + token + row.slice(this.#column + 1);
      this.#column += 1;
    }
    assert(this.#row >= 0, "the cursor stays on the screen");
    while (this.rows.length <= this.#row) this.rows.push("");
  }
}

Deno.test("Terminal: frames replace each other, lines go above, the last frame stays and the cursor comes back", () => {
  const screen = new TinyTerminal();
  const terminal = new LiveTerminal({ write: (text) => screen.write(text), size: () => ({ columns: 80, rows: 24 }) });
  terminal.draw(["alpha", "beta", "gamma"]);
  assertEquals(screen.rows, ["alpha", "beta", "gamma", ""]);
  terminal.draw(["alpha", "b", "gamma"]);
  assertEquals(screen.rows, ["alpha", "b", "gamma", ""]);
  terminal.insertAbove("a log line");
  assertEquals(screen.rows, ["a log line", "alpha", "b", "gamma", ""]);
  terminal.draw(["alpha"]);
  assertEquals(screen.rows, ["a log line", "alpha", ""]);
  terminal.draw(["alpha", "delta"]);
  assertEquals(screen.rows, ["a log line", "alpha", "delta", ""]);
  terminal.close();
  assertMatch(screen.sent, /\?25l/);
  assertEquals(screen.sent.lastIndexOf("\x1b[?25h") > screen.sent.lastIndexOf("\x1b[?25l"), true);
  assertEquals(screen.sent.lastIndexOf("\x1b[?7h") > screen.sent.lastIndexOf("\x1b[?7l"), true);
});

Deno.test("Terminal: only changed lines are written, and nothing when nothing changed", () => {
  const screen = new TinyTerminal();
  const terminal = new LiveTerminal({ write: (text) => screen.write(text), size: () => ({ columns: 80, rows: 24 }) });
  terminal.draw(["alpha", "beta"]);
  screen.sent = "";
  terminal.draw(["alpha", "beta"]);
  assertEquals(screen.sent, "");
  terminal.draw(["alpha", "other"]);
  assertEquals([screen.sent.includes("alpha"), screen.sent.includes("other")], [false, true]);
});

Deno.test("Terminal: after the window narrows, the rows of the wrapped frame are cleared", () => {
  let sent = "";
  let columns = 80;
  const terminal = new LiveTerminal({ write: (text) => sent += text, size: () => ({ columns, rows: 24 }) });
  terminal.draw(["x".repeat(70), "y"]);
  columns = 40;
  sent = "";
  terminal.draw(["z"]);
  assertStringIncludes(sent, "\x1b[3A\r\x1b[J"); // 70 characters take two rows of 40, and one for y
});

Deno.test("Run screen: --json passes every record through and prints nothing for people", () => {
  const host = new FakeHost();
  const output = new TerminalOutput({ host, json: true, quiet: false, verbose: false, noColor: false });
  const run = new Projection({
    output,
    opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
    nowMs: () => 0,
    consumers: projectionConsumers,
  });
  const records = sampleRun(3).map(({ record }) => record);
  for (const record of records) run.tell(record);
  run.close();
  const lines = host.written.stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines, JSON.parse(JSON.stringify(records)));
});

Deno.test("Run screen: a note is a line with its time, and has no JSON line", () => {
  const written = (json: boolean) => {
    const host = new FakeHost();
    const output = new TerminalOutput({ host, json, quiet: false, verbose: false, noColor: true });
    const run = new Projection({
      output,
      opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
      nowMs: () => 65_000,
      consumers: projectionConsumers,
    });
    run.tell({ type: "noted", label: "chaos", text: "step 20: killed miner-3 (pid 7), restarted as pid 9" });
    run.close();
    assertEquals(run.view.news.length, 1);
    return host.written.stdout;
  };
  assertEquals(written(false), "   1:05  chaos    step 20: killed miner-3 (pid 7), restarted as pid 9\n");
  assertEquals(written(true), "");
});

Deno.test("Run screen: on a terminal the last frame is above the summary, with the cursor shown", () => {
  const host = new FakeHost({ terminal: { columns: 80, rows: 30 } });
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  let nowMs = 0;
  const run = new Projection({
    output,
    opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
    nowMs: () => nowMs,
    consumers: projectionConsumers,
  });
  for (const { record, atMs } of sampleRun(40)) {
    nowMs = atMs;
    run.tell(record);
  }
  output.log.warn("a word in between");
  output.summary({ steps: 40 });
  run.close();
  output.close();
  const terminal = new TinyTerminal();
  terminal.write(host.written.stdout);
  const text = terminal.rows.join("\n");
  assertMatch(text, /^14:03:07 warn {2}a word in between\niota swarm/);
  assertMatch(text, /step {4}40 of 40/);
  assertMatch(text, /\n\nsteps {2}40\n$/);
  assert(host.written.stdout.lastIndexOf("\x1b[?25h") > host.written.stdout.lastIndexOf("\x1b[?25l"));
});
