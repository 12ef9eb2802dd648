/** A simulated process's timers: the contract of the tests' own, and few entries however often a timer is set anew. */

import { assert, assertEquals } from "@std/assert";
import { Dice } from "../../lab/sim/dice.ts";
import { EventQueue } from "../../lab/world/event_queue.ts";
import { QueueTimers } from "../../lab/world/queue_timers.ts";
import type { Cancel, Timers } from "../../../net/timers.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

function virtual(): { timers: Timers; advance: (ms: number) => void; queue: EventQueue } {
  const queue = new EventQueue();
  const advance = (ms: number) => {
    const untilMs = queue.nowMs + ms;
    queue.at(untilMs, () => {});
    while (queue.nextMs <= untilMs) queue.runNext();
  };
  return { timers: new QueueTimers(queue), advance, queue };
}

Deno.test("Queue timers: set and cancelled at random, they ring when a test's own timers ring", () => {
  const dice = new Dice(3, "timers");
  const manual = new ManualTimers();
  const simulated = virtual();
  const rung: [string[], string[]] = [[], []];
  const cancels: Cancel[] = [];
  for (let round = 0; round < 2000; round++) {
    const delayMs = dice.between(0, 50);
    for (const [side, timers] of [manual, simulated.timers].entries()) {
      const from = timers.steadyMs();
      cancels.push(timers.after(delayMs, () => rung[side]!.push(`${round}+${timers.steadyMs() - from}`)));
    }
    if (dice.chance(0.6)) {
      const pair = 2 * dice.below(cancels.length / 2);
      cancels[pair]!();
      cancels[pair + 1]!(); // perhaps long after it rang
    }
    const passedMs = dice.between(0, 10);
    manual.advance(passedMs);
    simulated.advance(passedMs);
    for (const each of rung) each.sort(); // of one instant, the order is each side's own
    assertEquals(rung[1], rung[0]);
  }
  assert(rung[0].length > 500);
});

Deno.test("Queue timers: a timer set anew after every event leaves one entry, not one each", () => {
  const { timers, queue } = virtual();
  let cancel: Cancel = () => {};
  for (let i = 0; i < 10_000; i++) {
    cancel();
    cancel = timers.after(1000 + i, () => {});
  }
  assertEquals(queue.size, 1);
});
