/** A node without its orchestrator: what it reports and when, and when it gives up. */

import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { durationOf, durationOption } from "../../../cli/terminal/text/duration_text.ts";
import { UsageError, UserError } from "../../../cli/program/errors.ts";
import type { NodeLink } from "../../../cli/node/node_role.ts";
import { HubWait } from "../../../cli/node/hub_wait.ts";
import { validator } from "../../../core/validator/machine.ts";
import { startValidator } from "../../../cli/node/validator_role.ts";
import { defaultNetLimits } from "../../../net/limits.ts";
import type { Wire } from "../../../net/links/wire.ts";
import { idle } from "../../support/idle.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { countingRandom, ManualTimers } from "../../support/net/manual_timers.ts";
import { testSigner, testVerify } from "../../support/net/test_keys.ts";

const minuteMs = 60_000;

function saidAt(
  wait: HubWait,
  options: { untilMs: number; everyMs: number; reasonAt: (ms: number) => string },
): number[] {
  const said: number[] = [];
  for (let ms = 0; ms <= options.untilMs; ms += options.everyMs) {
    if (wait.failed(options.reasonAt(ms), ms).isWorthSaying) said.push(ms / 1000);
  }
  return said;
}

Deno.test("Waiting: the first failure is said, then one line after twice the time, at last one in 15 minutes", () => {
  const wait = new HubWait({ giveUpAfterMs: null, nowMs: 0 });
  const said = saidAt(wait, { untilMs: 60 * minuteMs, everyMs: 3_000, reasonAt: () => "nobody there" });
  assertEquals(said, [0, 15, 30, 60, 120, 240, 480, 960, 1860, 2760]);
});

Deno.test("Waiting: another reason is said at once, but an orchestrator that always has another one fills no log", () => {
  const wait = new HubWait({ giveUpAfterMs: null, nowMs: 0 });
  const reasonAt = (ms: number) => ms < 61_000 ? "nobody there" : "still being read; try again";
  assertEquals(saidAt(wait, { untilMs: 2 * minuteMs, everyMs: 3_000, reasonAt }), [0, 15, 30, 60, 63]);
  const chatty = new HubWait({ giveUpAfterMs: null, nowMs: 0 });
  const said = saidAt(chatty, { untilMs: minuteMs, everyMs: 1_000, reasonAt: (ms) => `reason ${ms}` });
  assertEquals(said, [0, 1, 2, 3, 4, 5, 6, 7, 22, 37, 52]);
});

Deno.test("Waiting: time counts from the last link", () => {
  const wait = new HubWait({ giveUpAfterMs: 10_000, nowMs: 0 });
  const leftMs = (ms: number) => wait.failed("nobody there", ms).leftMs;
  assertEquals([leftMs(0), leftMs(9_999), leftMs(10_000), leftMs(10_001)], [10_000, 1, 0, 0]);
  wait.begin(50_000);
  assertEquals([leftMs(59_999), leftMs(60_000)], [1, 0]);
  assertEquals(new HubWait({ giveUpAfterMs: null, nowMs: 0 }).failed("nobody there", 1e12).leftMs, null);
  assertEquals(new HubWait({ giveUpAfterMs: 0, nowMs: 7 }).failed("nobody there", 7).leftMs, 0);
});

/** A validator whose every attempt fails. */
function lonely(giveUpAfterMs: number | null, cure?: string) {
  const timers = new ManualTimers();
  const waits: number[] = [];
  let attempts = 0;
  const dial: NodeLink["dial"] = (_url, handler) => {
    attempts += 1;
    timers.after(0, () => handler.closed("connection refused", cure));
    const wire: Wire = { bufferedBytes: 0, send() {}, close() {}, pause() {}, resume() {} };
    return wire;
  };
  const role = startValidator({
    link: {
      ...{ url: "ws://hub:1", signer: testSigner(1), verify: testVerify, dial, limits: defaultNetLimits, timers },
      ...{ random: countingRandom(1), giveUpAfterMs, onOffline() {}, onConnected() {} },
      onWaiting: ({ waitedMs }) => waits.push(waitedMs),
    },
    device: referenceHost(),
    machine: validator,
    blobs: { put: () => Promise.reject(new Error("no blobs")), get: () => Promise.reject(new Error("no blobs")) },
    onRecord() {},
    onScores() {},
  });
  const pass = (ms: number) => {
    for (let passedMs = 0; passedMs < ms; passedMs += 100) timers.advance(100);
  };
  return { role, waits, pass, attempts: () => attempts };
}

Deno.test("Waiting: a node retries forever, at least every 4 s, and reports it a few times", async () => {
  const { role, waits, pass, attempts } = lonely(null);
  pass(3_600_000);
  assertEquals(attempts() > 3_600 / 4, true, `${attempts()} attempts in an hour`);
  assertEquals([waits.length < 12, waits[0]! < 1_000], [true, true]);
  role.stop("test over");
  assertEquals((await role.finished).reason, "test over");
});

Deno.test("Waiting: with --give-up-after it ends on time with what it waited for and the reason", async () => {
  const { role, pass } = lonely(90_000);
  let isOver = false;
  const failure = role.finished.then(() => null, (error) => {
    isOver = true;
    return error;
  });
  pass(89_900);
  await idle();
  assertEquals(isOver, false);
  pass(300);
  const error = await failure;
  assertEquals(error instanceof UserError, true);
  assertMatch(
    error.message,
    /'ws:\/\/hub:1' did not admit this node in 1 m 30 s .*\. connection refused/,
  );
});

Deno.test("Waiting: the next step of --give-up-after is the cure of the reason, where there is one", async () => {
  for (const cure of ["use --orchestrator wss://hub:1", undefined]) {
    const { role, pass } = lonely(0, cure);
    const failure = role.finished.then(() => null, (error) => error);
    pass(1_000);
    const { message, next } = await failure;
    assertMatch(message, /connection refused$/);
    assertMatch(next, cure === undefined ? /^Check the address/ : /^Use --orchestrator wss:\/\/hub:1$/);
  }
});

Deno.test("Durations: a number with a unit, or 0; anything else is named", () => {
  const read: [string, number | null][] = [
    ["0", 0],
    ["250ms", 250],
    ["90s", 90_000],
    ["1.5m", 90_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
    ...["", "90", "-1s", "s", "1 m", "400d", "1e3s", "Infinitys"].map((text): [string, null] => [text, null]),
  ];
  for (const [text, ms] of read) assertEquals(durationOf(text), ms, text);
  assertEquals(durationOption("give-up-after", undefined), null);
  assertThrows(() => durationOption("give-up-after", "soon"), UsageError, "but is 'soon'");
});
