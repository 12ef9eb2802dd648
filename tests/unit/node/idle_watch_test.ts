/** When a miner that gets nothing to do says so. */

import { assertEquals, assertRejects } from "@std/assert";
import { IdleWatch } from "../../../cli/node/idle_watch.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

const minuteMs = 60_000;

function open() {
  const timers = new ManualTimers();
  const lines: string[] = [];
  const watch = new IdleWatch({
    timers,
    onIdle: (ms) => lines.push(`idle ${ms / minuteMs}`),
    onBusy: (ms) => lines.push(`busy after ${ms / minuteMs}`),
  });
  return { timers, lines, watch };
}

Deno.test("Idle: a wait is said after a minute, then each time it has doubled, at last hourly; its end once", async () => {
  const { timers, lines, watch } = open();
  timers.advance(10 * minuteMs);
  assertEquals(lines, [], "before its first work it loads, which has lines of its own");
  await watch.during(() => Promise.resolve());
  timers.advance(200 * minuteMs);
  assertEquals(lines, [1, 2, 4, 8, 16, 32, 64, 124, 184].map((minutes) => `idle ${minutes}`));
  lines.length = 0;
  await watch.during(() => Promise.resolve());
  await watch.during(() => Promise.resolve());
  assertEquals(lines, ["busy after 200"]);
});

Deno.test("Idle: work under way is not idleness, however long it takes, nor is a short pause worth a line", async () => {
  const { timers, lines, watch } = open();
  const long = Promise.withResolvers<void>();
  const working = watch.during(() => long.promise);
  await assertRejects(() => watch.during(() => Promise.reject(new Error("a failed job"))));
  timers.advance(30 * minuteMs);
  long.resolve();
  await working;
  timers.advance(0.9 * minuteMs);
  await watch.during(() => Promise.resolve());
  assertEquals(lines, []);
});

Deno.test("Idle: without a link other lines say so, and a stopped watch is silent", async () => {
  const { timers, lines, watch } = open();
  await watch.during(() => Promise.resolve());
  watch.linked(false);
  timers.advance(30 * minuteMs);
  assertEquals(lines, []);
  watch.linked(true);
  timers.advance(minuteMs);
  assertEquals(lines, ["idle 1"]);
  watch.stop();
  timers.advance(30 * minuteMs);
  await watch.during(() => Promise.resolve());
  timers.advance(30 * minuteMs);
  assertEquals(lines, ["idle 1"]);
});
