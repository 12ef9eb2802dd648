/** Clocks that differ: both sides learn it by the hello, and the node's requests are in the orchestrator's time. */

import { assertEquals } from "@std/assert";
import { HubTime } from "../../net/auth/clocks.ts";
import { SettableClock } from "../support/net/link_world.ts";
import type { Check } from "./transport_check.ts";

const threeMinutesMs = 180_000;

export function clockCases(check: Check): void {
  check("each side learns how far the other's clock is off, also by a ticket", async (world) => {
    const clock = new SettableClock(world.timers);
    clock.offsetMs = -threeMinutesMs;
    const member = world.join(1, { node: { timers: clock } });
    assertEquals((await member.events.next("connected")).clock, { aheadMs: threeMinutesMs, errorMs: 0 });
    assertEquals((await world.hubEvents.next("peerConnected")).clock, { aheadMs: -threeMinutesMs, errorMs: 0 });
    clock.offsetMs = threeMinutesMs;
    member.link.cut();
    await world.reconnect(member);
    assertEquals((await member.events.next("connected")).clock, { aheadMs: -threeMinutesMs, errorMs: 0 });
    assertEquals((await world.hubEvents.next("peerConnected")).clock, { aheadMs: threeMinutesMs, errorMs: 0 });
  });

  check("an orchestrator whose clock is set compares it anew, and no session ends", async (world) => {
    const clock = new SettableClock(world.timers);
    world.restartHub({ timers: clock });
    const member = world.join(1);
    const time = new HubTime(world.timers);
    time.learn((await member.events.next("connected")).clock);
    clock.offsetMs = threeMinutesMs;
    world.timers.advance(world.limits.heartbeatMs);
    await world.reconnect(member);
    const { resumed, clock: learned } = await member.events.next("connected");
    assertEquals([resumed, learned.aheadMs], [true, threeMinutesMs]);
    time.learn(learned);
    assertEquals(time.nowMs(), clock.nowMs());
  });
}
