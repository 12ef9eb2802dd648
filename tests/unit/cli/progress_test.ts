/** Progress of long work: the estimate, the line at any width, and how often it is written where. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { leftOf, openProgress, progressLine, WorkProgress } from "../../../cli/terminal/output/progress.ts";
import { FakeHost } from "../../support/fake_host.ts";

function openWork({ isPlain = false, columns = 80 } = {}) {
  let nowMs = 0;
  const lines: (string | null)[] = [];
  const work = new WorkProgress({
    ...{ label: "exporting", unit: "moments", nowMs: () => nowMs, width: () => columns },
    draw: (line) => void (isPlain || lines.push(line)),
    say: isPlain ? (line) => void lines.push(line) : null,
  });
  return { work, lines, wait: (ms: number) => nowMs += ms };
}

Deno.test("Progress: an estimate rests on the last part, comes when that is long enough, and grows while nothing moves", () => {
  const { work, lines, wait } = openWork();
  for (let i = 1; i <= 60; i++) {
    wait(i <= 20 ? 1_000 : 100); // ten times as fast after a slow start
    work.at(i, 100);
  }
  assert(lines.slice(0, 2).every((line) => !line!.includes("left")), lines.slice(0, 2).join());
  for (let i = 61; i <= 80; i++) {
    wait(500);
    work.at(i, 100);
  }
  assertMatch(lines.at(-1)!, /80 % · 80 of 100 moments, about 10 s left/);
  wait(60_000);
  work.again();
  const stalled = Number(/about (\d+) /.exec(lines.at(-1)!)![1]);
  assert(stalled > 50, lines.at(-1)!);
});

Deno.test("Progress: without a total, a pace or time there is no estimate", () => {
  const samples = [{ atMs: 0, done: 10 }];
  assertEquals(leftOf([], { done: 5, total: 10, atMs: 9_000 }), null);
  assertEquals(leftOf(samples, { done: 50, total: null, atMs: 9_000 }), null);
  assertEquals(leftOf(samples, { done: 50, total: 0, atMs: 9_000 }), null);
  assertEquals(leftOf(samples, { done: 50, total: 100, atMs: 2_000 }), null);
  assertEquals(leftOf(samples, { done: 10, total: 100, atMs: 9_000 }), null);
  assertEquals(leftOf(samples, { done: 50, total: 100, atMs: 8_000 }), 10_000);
  assertEquals(leftOf(samples, { done: 120, total: 100, atMs: 8_000 }), 0);
});

Deno.test("Progress: the line fits the window, with a bar where there is room", () => {
  const shown = {
    label: "reading",
    unit: "bytes",
    done: 3 * 2 ** 20,
    total: 2 ** 22,
    now: "x".repeat(80),
    leftMs: 42_000,
  };
  for (const width of [10, 39, 80, 120]) assert(progressLine(shown, width).length <= width);
  assertMatch(progressLine(shown, 120), /^reading {2}█{15}░{5} 75 % · 3\.0 MiB of 4\.0 MiB, about 42 s left · x+…$/);
  assertMatch(progressLine({ ...shown, total: null, leftMs: null, now: "" }, 80), /^reading {2}3\.0 MiB$/);
  assertEquals(
    progressLine({ label: "checking", unit: "checks", done: 3, total: 12, now: "speed", leftMs: null }, null),
    "checking: 25 % · 3 of 12 checks · speed",
  );
});

Deno.test("Progress: short work says nothing, and where nothing can be drawn a line comes every ten seconds", () => {
  const short = openWork();
  short.wait(900);
  short.work.at(9, 10);
  short.work.close();
  assertEquals(short.lines, [null]);
  const plain = openWork({ isPlain: true });
  for (let i = 0; i < 65; i++) {
    plain.wait(1_000);
    plain.work.at(i, 100);
  }
  assertEquals(plain.lines.length, 6);
  plain.work.close();
  plain.work.at(99, 100);
  assertEquals(plain.lines.length, 6);
});

Deno.test("Progress: other lines go above it, and nothing of it is in JSON or when quiet", () => {
  const host = new FakeHost({ terminal: { columns: 80, rows: 24 } });
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  const originalNow = performance.now;
  let nowMs = 0;
  performance.now = () => nowMs;
  try {
    const progress = openProgress(output, "training", "steps");
    nowMs = 5_000;
    progress.at(1, 4, "a row");
    const drawn = "training  █████░░░░░░░░░░░░░░░ 25 % · 1 of 4 steps · a row";
    assertEquals(host.written.stdout, `\r${drawn}\x1b[K`);
    host.written.stdout = "";
    output.line("done: a row");
    assertEquals(host.written.stdout, `\r\x1b[Kdone: a row\n${drawn}`);
    host.written.stdout = "";
    output.answer({}, "all done");
    assertEquals(host.written.stdout, "\r\x1b[Kall done\n");
    for (const [json, quiet] of [[true, false], [false, true]] as const) {
      const silent = new FakeHost({ terminal: { columns: 80, rows: 24 } });
      const none = openProgress(new TerminalOutput({ host: silent, json, quiet, verbose: false, noColor: true }), "x");
      nowMs += 5_000;
      none.at(1, 2);
      none.close();
      assertEquals([silent.written.stdout, silent.written.stderr], ["", ""]);
    }
  } finally {
    performance.now = originalNow;
  }
});
