/** Keys on a live screen: from bytes to what they do, and the terminal afterwards. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { isForeground } from "../../../cli/program/keyboard.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { type KeyAction, Keys, LiveScreen } from "../../../cli/terminal/screen/live_screen.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { visibleWidth } from "../../../cli/terminal/text/format.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { foldAt, openedView, sampleRun } from "../../support/sample_run.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("Keys: characters are keys in lower case; arrows, function keys and Escape are none, also cut in two", () => {
  const keys = new Keys();
  assertEquals(keys.read(bytes("qD?")), ["q", "d", "?"]);
  assertEquals(keys.read(bytes("\x1b[A\x1b[15~\x1bOPx")), ["x"]);
  assertEquals(keys.read(bytes("\x1b[1;")), []);
  assertEquals(keys.read(bytes("5Cp")), ["p"]);
  assertEquals([keys.read(bytes("\x1b")), keys.read(bytes("q"))], [[], ["q"]]);
  assertEquals(keys.read(bytes("\r\n\t é€q")), ["q"]);
});

function openScreen(actions: KeyAction[] = [], terminal = { columns: 80, rows: 20 }) {
  const host = new FakeHost({ terminal });
  host.hasKeyboard = true;
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  let stops = 0;
  let nowMs = 0;
  output.onAskedToStop = () => stops += 1;
  const screen = new LiveScreen({
    ...{ output, nowMs: () => nowMs, actions, hasDetails: true },
    frame: ({ isDetailed, height }) => [isDetailed ? "all of it" : "the most important", `room ${height}`],
  });
  const shownAfter = (keys: string) => {
    host.written.stdout = "";
    host.press(keys);
    return host.written.stdout;
  };
  return { host, screen, shownAfter, stops: () => stops, wait: (ms: number) => nowMs += ms };
}

Deno.test("Keys: help and details open and close, and the frame leaves a line for the hints", () => {
  const { host, screen, shownAfter } = openScreen();
  assertMatch(host.written.stdout, /the most important[^]*room 18[^]*\? help · d more details · q stop/);
  assertMatch(shownAfter("d"), /all of it[^]*d fewer details/);
  assertMatch(shownAfter("?"), /Keys[^]*Ctrl-C {2}stop in order; once more: at once/);
  assertMatch(shownAfter("x"), /all of it/);
  assertMatch(shownAfter("D"), /the most important/);
  screen.close();
  assertEquals(host.keyboard, null);
});

Deno.test("Keys: the first q asks, the second stops, and any other key between them means no", () => {
  const { screen, shownAfter, stops, wait } = openScreen();
  assertMatch(shownAfter("q"), /Press q once more to stop/);
  wait(1_000);
  assertMatch(shownAfter("x"), /\? help/);
  shownAfter("qqqq"); // pasted: nobody has read the question
  assertEquals(stops(), 0);
  wait(300);
  shownAfter("q");
  assertEquals(stops(), 1);
  screen.close();
});

Deno.test("Keys: an action says what it did or why it could not, until the next key or a while later", async () => {
  const turns: (() => Promise<string | null>)[] = [
    () => Promise.resolve("paused"),
    () => Promise.reject(new Error("Cannot pause as it is over")),
  ];
  const { host, screen, shownAfter } = openScreen([{ key: "p", word: "pause", doc: "", act: () => turns.shift()!() }]);
  shownAfter("p");
  await Promise.resolve();
  assertMatch(shownAfter("\x1b[A"), /^$/); // no key
  host.keyboard!.onResize();
  assertMatch(host.written.stdout, /paused/);
  shownAfter("p");
  await Promise.resolve();
  await Promise.resolve();
  host.keyboard!.onResize();
  assertMatch(host.written.stdout, /Cannot pause as it is over/);
  assertMatch(shownAfter("x"), /p pause · q stop/);
  screen.close();
});

Deno.test("Keys: a small window has no hints but asks; a program that goes on draws a whole frame", () => {
  const { host, screen, shownAfter } = openScreen([], { columns: 40, rows: 7 });
  assert(!host.written.stdout.includes("help"));
  assertMatch(shownAfter("q"), /Press q once more to stop, any other k…/);
  shownAfter("x");
  host.written.stdout = "";
  host.keyboard!.onContinue();
  assertMatch(host.written.stdout, /the most important[^]*room 6/);
  screen.close();
});

Deno.test("Keys: there are none in the background, nor hints of them", () => {
  const host = new FakeHost({ terminal: { columns: 80, rows: 20 } });
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  const screen = new LiveScreen({ output, nowMs: () => 0, frame: () => ["frame"] });
  assert(!host.written.stdout.includes("help"));
  screen.close();
  assertEquals(isForeground("7 (a) b) S 1 70 7 34816 70 4194304 1"), true);
  assertEquals(isForeground("7 (iota) S 1 70 7 34816 99 4194304 1"), false);
  assertEquals(isForeground(""), false);
});

Deno.test("Details: validators, slow miners, what is held against them and agreement, no wider than the window", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(40)) foldAt(view, record, atMs);
  for (const width of [39, 60, 100]) {
    for (const height of [5, 24, 60]) {
      const lines = frame(view, { width, height, nowMs: 90_000, paint: createPaint(false), isDetailed: true });
      assert(lines.length <= height, `${lines.length} lines`);
      for (const line of lines) assert(visibleWidth(line) <= width, line);
    }
  }
  const text = frame(view, { width: 100, height: 60, nowMs: 90_000, paint: createPaint(false), isDetailed: true })
    .join("\n");
  assertMatch(text, /5GNJqT…xiZY {2}3 passed, 1 failed, 4 rounds evaluated, held-out loss 3\.6000/);
  assertMatch(text, /5HGjWA…UMaw {2}stage 2 {2}3\d ms, 23 ms, \d+ ms/);
  assertMatch(text, /round 4: all equal/);
});
