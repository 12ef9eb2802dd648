/** What an orchestrator says of clocks: a node's, or its own. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { ClockWatch, nodeClockText } from "../../../cli/roles/clock_watch.ts";
import { nodeId } from "../../../core/ids.ts";

const nowMs = Date.UTC(2026, 10, 27, 15, 44, 10);
const node = (number: number) => nodeId(`5Node${number}`);
const by = (minutes: number) => ({ aheadMs: minutes * 60_000, errorMs: 50 });

Deno.test("Clock watch: a node whose clock is off is named once, with both times, whatever it says later", () => {
  const watch = new ClockWatch();
  assertEquals(watch.note(node(1), { aheadMs: 9_000, errorMs: 0 }, nowMs), null);
  const said = watch.note(node(2), by(-3), nowMs) ?? "";
  assertMatch(
    said,
    /5Node2 says 2026-11-27 15:41:10 UTC, and this machine's 2026-11-27 15:44:10 UTC: a difference of 3 m 00 s/,
  );
  assertEquals(watch.note(node(2), by(-3), nowMs + 60_000), null);
  assertEquals(watch.note(node(2), by(5), nowMs), null);
  watch.left(node(2));
  assertEquals(watch.note(node(2), by(-3), nowMs), null);
});

Deno.test("Clock watch: when the nodes agree with each other, the orchestrator's own clock is named, once", () => {
  const watch = new ClockWatch();
  const said = [1, 2, 3, 4, 5].map((number) =>
    watch.note(node(number), { aheadMs: 180_000 + number, errorMs: 50 }, nowMs)
  );
  assertMatch(
    said[2] ?? "",
    /The clock of this machine is probably wrong: it says .*15:44:10 UTC, and those of 3 of 3 nodes say .*15:47:10 UTC, 3 m 00 s later/,
  );
  assertEquals(said.slice(3), [null, null]);
});

Deno.test("Clock watch: members that left do not count for the orchestrator's own clock", () => {
  const watch = new ClockWatch();
  for (const number of [1, 2, 3]) {
    assertMatch(watch.note(node(number), by(7), nowMs) ?? "", /^The clock of 5Node/);
    watch.left(node(number));
  }
});

Deno.test("Clock watch: members that agree on ever new clocks are read ten times at most", () => {
  const watch = new ClockWatch();
  let said = 0;
  for (let minutes = 1; minutes < 200; minutes++) {
    for (const number of [1, 2, 3]) if (watch.note(node(number), by(minutes), nowMs) !== null) said += 1;
  }
  assert(said <= 13, `${said} sentences`);
});

Deno.test("Clock watch: five clocks that differ each their own way are five nodes'", () => {
  const watch = new ClockWatch();
  const said = [-10, -5, 0, 5, 10].map((minutes, number) => watch.note(node(number), by(minutes), nowMs));
  assertEquals(said.map((text) => text?.startsWith("The clock of 5Node") ?? null), [true, true, null, true, true]);
});

Deno.test("Clock watch: a node reads how far its clock is off, and what that means", () => {
  assertEquals(nodeClockText({ aheadMs: 4_000, errorMs: 0 }, nowMs), null);
  assertMatch(
    nodeClockText(by(3), nowMs) ?? "",
    /^The clock of this machine \(2026-11-27 15:44:10 UTC\) is 3 m 00 s behind the orchestrator's \(2026-11-27 15:47:10 UTC\)/,
  );
});
