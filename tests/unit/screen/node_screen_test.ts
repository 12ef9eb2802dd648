/** A node's own screen: what it folds from the node's events, and what it shows at any width. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { visibleWidth } from "../../../cli/terminal/text/format.ts";
import { minerLine } from "../../../cli/node/node_lines.ts";
import { LinkMeter } from "../../../cli/node/screen/link_meter.ts";
import type { NodeEvent } from "../../../cli/node/screen/node_event.ts";
import { nodeFrame } from "../../../cli/node/screen/node_panel.ts";
import { openNodeScreen } from "../../../cli/node/screen/node_screen.ts";
import {
  foldNode,
  loadingLeftMs,
  type NodeScreenView,
  openNodeView,
  paceOf,
} from "../../../cli/node/screen/node_view.ts";
import { nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { sampleMiners } from "../../support/sample_run.ts";

const address = sampleMiners[0]!;
const rates = { sent: 3_500_000, received: 9_000, sentPerSecond: 41_000, receivedPerSecond: 0 };
const stage = stageIndex(1);
const paint = createPaint(false);
const task = taskId({ microbatch: 3 as never, stage, direction: "forward", attempt: 0 });
const computed = (computeMs: number, direction: "forward" | "backward" = "forward"): NodeEvent => (
  { type: "taskComputed", task, direction, computeMs, loss: null }
);
const chain = { network: "finney", netuid: 9, admission: "registered" } as const;

const view = (role: NodeScreenView["role"], ...events: readonly (readonly [atMs: number, event: NodeEvent])[]) => {
  const folded = openNodeView(role, 0);
  for (const [atMs, event] of events) foldNode(folded, event, atMs);
  return folded;
};

const shown = (of: NodeScreenView, { width = 120, height = 40, nowMs = 60_000, isDetailed = false } = {}) =>
  nodeFrame(of, { address, rates }, { width, height, nowMs, paint, isDetailed });

const begun = [
  [0, { type: "device", name: "llvmpipe", isSoftware: true }],
  [1_000, { type: "joined", resumed: false }],
  [1_000, { type: "welcomed", name: "evil\x1b[2Jrun", size: "tiny", chain }],
  [2_000, { type: "stageAssigned", stage, round: 4 }],
] as const satisfies readonly (readonly [number, NodeEvent])[];

Deno.test("Node screen: why a miner waits is always said", () => {
  const says = (...events: readonly (readonly [number, NodeEvent])[]) =>
    shown(view("miner", ...events)).find((line) => line.startsWith("now"));
  assertMatch(says() ?? "", /connecting/);
  const waiting = { type: "waiting", url: "ws://x", reason: "nobody\nlistens", waitedMs: 5_000 } as const;
  assertMatch(says([10_000, waiting]) ?? "", /^now {6}waits for the orchestrator, 55\.0 s: nobody · listens/);
  assertMatch(says(...begun.slice(0, 3)) ?? "", /waits for a stage/);
  assertMatch(says(...begun) ?? "", /loading its stage · stage 1, round 4/);
  assertMatch(says(...begun, [3_000, computed(5)]) ?? "", /working/);
  assertMatch(
    says(...begun, [40_000, { type: "idle", idleMs: 30_000, isOver: false }]) ?? "",
    /nothing to do for 50\.0 s/,
  );
  assertMatch(says(...begun, [9, { type: "paused", cause: "load", reason: "busy" }]) ?? "", /^now {6}paused: busy/);
  assertMatch(says(...begun, [9, { type: "offline" }]) ?? "", /the link is lost/);
  assertMatch(
    says(...begun, [9, { type: "deviceLost", reason: "driver", losses: 1 }]) ?? "",
    /opening its device again: driver/,
  );
  assertMatch(says(...begun, [9, { type: "loadFailed", stage, code: "x", detail: "" }]) ?? "", /waits for a stage/);
  const benched = [9, { type: "notice", about: "rest", untilRound: 13 }] as const;
  const working = [...begun, [3_000, computed(5)]] as const;
  assertMatch(says(...working, benched) ?? "", /^now {6}no stage until round 13: too many missed deadlines/);
  const assigned = [10, { type: "stageAssigned", stage, round: 13 }] as const;
  assertMatch(says(...working, benched, assigned) ?? "", /loading its stage/);
  assertMatch(says(...working, assigned, benched) ?? "", /loading its stage/, "called back at once");
});

Deno.test("Node screen: what costs it pay is said, in words and as a line", () => {
  const withheld = { type: "notice", about: "withheld", duty: "showing", round: 7 } as const;
  const forfeit = { type: "notice", about: "forfeit", fromRound: 5 } as const;
  const row = (...events: NodeEvent[]) =>
    shown(view("miner", ...begun, ...events.map((event) => [9_000, event] as const)))
      .find((line) => line.startsWith("notice"));
  assertEquals(row(), undefined);
  const text = "round 7: paid less, as parameters that it had to upload missed the deadline";
  assertEquals(row(withheld), `notice   ${text}`);
  assertEquals(minerLine(withheld), text);
  assertMatch(row(withheld, forfeit) ?? "", /^notice {3}unvested pay from round 5 on was forfeited/);
  const merged = (round: number): NodeEvent => ({ type: "roundMerged", round, parameters: "" });
  assertEquals(
    [row(withheld, merged(15)) === undefined, row(withheld, merged(16))],
    [false, undefined],
    "for eight rounds",
  );
});

Deno.test("Node screen: a refused upload is said with its status and size, until a round is merged", () => {
  const failed = { type: "uploadFailed", round: 4, upload: { status: 413, bytes: 30_096, clockMs: 0 } } as const;
  const text = "round 4: an upload of 30,096 bytes was answered with HTTP 413";
  const row = (...events: NodeEvent[]) =>
    shown(view("miner", ...begun, ...events.map((event) => [9_000, event] as const)))
      .find((line) => line.startsWith("upload"));
  assertEquals([row(failed), minerLine(failed)], [`upload   ${text}`, text]);
  assertEquals(row(failed, { type: "roundMerged", round: 5, parameters: "" }), undefined);
});

Deno.test("Node screen: loading says how much, and how long only when the rate is known", () => {
  const loading = (bytes: number, atMs: number): readonly [number, NodeEvent] => [
    ...[atMs] as const,
    { type: "stageLoading", stage, round: 4, part: "fetching", bytes, totalBytes: 10_000_000 },
  ];
  const early = view("miner", ...begun, loading(1_000_000, 10_000));
  assertMatch(shown(early, { nowMs: 60_000 })[2]!, /fetching 976\.6 KiB of 9\.5 MiB · stage/);
  const later = view("miner", ...begun, loading(1_000_000, 10_000), loading(4_000_000, 20_000));
  assertMatch(shown(later, { nowMs: 20_000 })[2]!, /fetching 3\.8 MiB of 9\.5 MiB, about 20 s left/);
  const { doing } = later;
  assert(doing.type === "loading" && doing.loading !== null);
  assertEquals(loadingLeftMs(doing.loading, 50_000), 80_000); // it has stalled: the estimate grows
  const next = { type: "stageLoading", stage, round: 4, part: "placing", bytes: 5, totalBytes: 10 } as const;
  foldNode(later, next, 30_000);
  assertMatch(shown(later, { nowMs: 90_000 })[2]!, /placing on the device 50 % ·/); // its own part, no rate yet
});

Deno.test("Node screen: the last minute's pace, and rounds with what was done in each", () => {
  const events: (readonly [number, NodeEvent])[] = [...begun, [3_000, {
    type: "stageLoaded",
    stage,
    round: 4,
    parameters: "",
  }]];
  for (let i = 0; i < 200; i++) {
    events.push([10_000 + 1_000 * i, computed(i % 2 === 0 ? 300 : 500, i % 2 === 0 ? "forward" : "backward")]);
  }
  const worked = view("miner", ...events, [209_000, { type: "roundMerged", round: 5, parameters: "" }], [
    209_000,
    computed(300),
  ]);
  assert(worked.recent.length <= 62);
  const pace = paceOf(worked, 209_000)!;
  assert(Math.abs(pace.tasksPerMinute - 61) < 1.5, String(pace.tasksPerMinute));
  assert(Math.abs(pace.busyShare - 0.4) < 0.02, String(pace.busyShare));
  assertEquals(pace.computeMs, { backward: 500, forward: 300 });
  assertEquals(paceOf(worked, 900_000), null); // nothing for minutes: no pace is claimed
  assertEquals(worked.rounds.map(({ round, tasks }) => [round, tasks]), [[4, 200], [5, 1]]);
  const text = shown(worked, { nowMs: 209_000, isDetailed: true }).join("\n");
  assertMatch(text, /201 tasks, 0 steps, 1 merge · \d+(\.\d)? tasks\/min/);
  assertMatch(text, /llvmpipe · a task: .*forward 300 ms.* · busy 4\d %/);
  assertMatch(text, /\n4 {9}200/);
});

Deno.test("Node screen: what it earned is what the chain says, with rank and balance", () => {
  const health = {
    type: "chainHealth",
    ...{ level: "good", sentences: ["uid 5 earned\x1b[31m something", "its place is safe"] } as const,
    ...{ uid: 5, emissionRao: "1500000000", earnedRao: "1234000000", stakeRao: "98765000000000", rank: 3, ranked: 12 },
  } as const;
  const text = shown(view("miner", ...begun, [9, health]), { isDetailed: true }).join("\n");
  assertMatch(text, /earned {3}1\.234 alpha in the last epoch · rank 3 of 12 · stake 98,765(\.0+)? alpha/);
  assertMatch(text, /its place is safe/);
  const alarm = { type: "chainHealth", level: "alarm", sentences: ["not registered"], uid: null } as const;
  assertMatch(shown(view("miner", ...begun, [9, alarm])).join("\n"), /chain {4}not registered/);
  assert(!shown(view("miner", ...begun)).join("\n").includes("earned"));
});

Deno.test("Node screen: a validator's losses, audits and weights", () => {
  const verdict = {
    type: "verdict",
    ...{ round: 4, miner: nodeId(address), stage, task, passed: false, innovationError: 1 },
    ...{ equalShare: 0, lossError: null, tolerance: 0.01 },
  } as const;
  const text = shown(view(
    "validator",
    ...begun.slice(0, 3),
    [5, { type: "evaluated", round: 4, loss: 3.25, tokens: 9 }],
    [6, { type: "evaluated", round: 5, loss: NaN, tokens: 9 }],
    [7, verdict],
    [8, { type: "weightsLanded", purpose: "set", block: 77 }],
  )).join("\n");
  assertMatch(text, /held-out 3\.2500 nats {2}\S+ · 2 rounds evaluated/);
  assertMatch(text, /audits {3}0 passed, 1 failed · last 5Grwva…\w+ FAILED/);
  assertMatch(text, /weights {2}last in block 77/);
});

Deno.test("Node screen: no line is wider or the frame higher than the window, and foreign text is harmless", () => {
  const health = { type: "chainHealth", level: "good", sentences: ["x".repeat(300), "y\x1b[2J".repeat(90)] } as const;
  const waiting = { type: "waiting", url: "", reason: "\x1b]0;owned\x07".repeat(50), waitedMs: 1 } as const;
  for (const role of ["miner", "validator"] as const) {
    const full = view(role, ...begun, [9, health], [10_000, computed(9)], [11_000, computed(9)], [12_000, waiting]);
    for (const width of [39, 60, 80, 200]) {
      for (const height of [0, 3, 24]) {
        const lines = shown(full, { width, height, isDetailed: true });
        assert(lines.length <= height);
        for (const line of lines) {
          assert(visibleWidth(line) <= width, `${width}: ${line}`);
          assert(!line.includes("\x1b") && !line.includes("\x07"), line);
        }
      }
    }
  }
});

Deno.test("Node screen: a week of tasks takes no more room than an hour", () => {
  const long = view("miner", ...begun);
  let atMs = 0;
  const sizes: number[] = [];
  for (let hour = 0; hour < 3; hour++) {
    for (let i = 0; i < 20_000; i++) foldNode(long, computed(3), atMs += 180);
    for (let round = 0; round < 20; round++) {
      foldNode(long, { type: "roundMerged", round: 20 * hour + round, parameters: "" }, atMs);
      foldNode(long, computed(3), atMs);
    }
    sizes.push(JSON.stringify(long).length);
  }
  assert(Math.max(...sizes) < 1.1 * sizes[0]!, String(sizes));
});

Deno.test("Link meter: bytes in all, and a second over the last minute", () => {
  let nowMs = 5_000;
  const meter = new LinkMeter(() => nowMs);
  meter.sent(1_000);
  assertEquals(meter.rates().sentPerSecond, 1_000); // not divided by less than a second
  nowMs += 10_000;
  meter.received(500);
  assertEquals([meter.rates().sentPerSecond, meter.rates().receivedPerSecond], [100, 50]);
  nowMs += 120_000;
  assertEquals(meter.rates(), { sent: 1_000, received: 500, sentPerSecond: 0, receivedPerSecond: 0 });
});

Deno.test("Node screen: it lives below the lines that scroll by, shows events as they are published, and ends with the output", () => {
  const host = new FakeHost({ terminal: { columns: 100, rows: 24 } });
  host.hasKeyboard = true;
  const output = new TerminalOutput({ host, json: false, quiet: false, verbose: false, noColor: true });
  let nowMs = 0;
  const meter = new LinkMeter(() => nowMs);
  const close = openNodeScreen({ output, role: "miner", address, meter, nowMs: () => nowMs });
  output.event({ type: "paused", cause: "hand", reason: "by hand" });
  output.event({ type: "somethingLater", of: "another version" });
  nowMs = 1_000;
  host.keyboard!.onResize();
  assertMatch(host.written.stdout, /now {6}paused: by hand/);
  output.line("a line for people");
  assert(host.written.stdout.lastIndexOf("a line for people") < host.written.stdout.lastIndexOf("? help"));
  close();
  assertEquals(host.keyboard, null);
  const piped = new TerminalOutput({ host: new FakeHost(), json: false, quiet: false, verbose: false, noColor: true });
  openNodeScreen({ output: piped, role: "miner", address, meter, nowMs: () => 0 })();
});
