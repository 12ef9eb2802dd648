/** The loop around a machine while it is held: no event is taken, no effect performed, and the machine's time stops. */

import { assert, assertEquals } from "@std/assert";
import { Driver, type DriverOptions, type TimedEvent } from "../../../cli/roles/driver.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

type Event = string;
type Options = DriverOptions<{ taken: string[] }, Event, string>;

class World {
  readonly timers = new ManualTimers();
  readonly startMs = this.timers.steadyMs();
  readonly state = { taken: [] as string[] };
  readonly performed: string[] = [];
  readonly pressure: boolean[] = [];
  readonly failures: unknown[] = [];
  readonly driver: Driver<{ taken: string[] }, Event, string>;

  constructor(options: Partial<Options> = {}) {
    this.driver = new Driver({
      machine: {
        step: (state, event, nowMs) => {
          state.taken.push(`${event}@${nowMs - this.startMs}`);
          return [`do ${event}`];
        },
        nextDeadlineMs: ({ taken }) => taken.some((event) => event.startsWith("tick")) ? null : this.startMs + 5_000,
        assertInvariants: () => {},
      },
      state: this.state,
      perform: (effect) => this.performed.push(effect),
      tick: "tick",
      timers: this.timers,
      inboxMessages: 3,
      onPressure: (isFull) => this.pressure.push(isFull),
      onFailure: (error) => this.failures.push(error),
      ...options,
    });
  }
}

Deno.test("Driver: while held, it takes nothing and its time stops; afterwards it resumes", () => {
  const { driver, timers, state, performed, pressure } = new World();
  driver.enqueue("a");
  timers.advance(1_000);
  driver.hold();
  driver.enqueue("b");
  timers.advance(3_600_000);
  assertEquals([state.taken, performed, pressure], [["a@0"], ["do a"], [true]], "no deadline passes either");
  driver.resume();
  assertEquals([state.taken, pressure], [["a@0", "b@1000"], [true, false]]);
  timers.advance(3_999);
  assertEquals(state.taken.length, 2);
  timers.advance(1);
  assertEquals(state.taken.at(-1), "tick@5000", "the deadline is as far away as before");
});

/** The process does not run for this long: timers and sockets are served afterwards. */
class Stalled extends ManualTimers {
  stalledMs = 0;
  override steadyMs = () => super.steadyMs() + this.stalledMs;
}

Deno.test("Driver: a deadline that the process slept through leaves time for what arrived before it, once", () => {
  const timers = new Stalled();
  const { driver, state } = new World({ timers });
  driver.enqueue("a");
  timers.stalledMs = 61_000;
  driver.enqueue("b");
  assertEquals(state.taken, ["a@0", "b@4000"]);
  timers.advance(900);
  driver.enqueue("c");
  assertEquals(state.taken.at(-1), "c@4900");
  timers.stalledMs += 60_000; // so soon again
  driver.enqueue("d");
  assertEquals(state.taken.at(-1), `d@${4_900 + 60_000}`, "a process that is always late still ends its waits");
  timers.advance(0);
  assertEquals(state.taken.at(-1), "tick@64900");
});

Deno.test("Driver: however late a process always is, its clock goes on at half the rate at least", () => {
  for (const lateMs of [200, 260, 600, 1_000, 3_000]) {
    for (const gapMs of [5, 100, 4_000]) {
      const timers = new Stalled();
      const startMs = timers.steadyMs();
      let dueMs = startMs + gapMs;
      let lastMs = startMs;
      const { driver } = new World({
        timers,
        machine: {
          step: (_, __, nowMs) => {
            lastMs = nowMs;
            while (dueMs <= nowMs) dueMs += gapMs;
            return [];
          },
          nextDeadlineMs: () => dueMs,
          assertInvariants: () => {},
        },
      });
      for (let turns = 0; timers.steadyMs() - startMs < 300_000; turns++) {
        timers.stalledMs += gapMs + lateMs;
        driver.enqueue("a");
      }
      const rate = (lastMs - startMs) / (timers.steadyMs() - startMs);
      assert(rate > 0.5 && rate <= 1, `${lateMs} ms late for deadlines ${gapMs} ms apart: ${rate}`);
    }
  }
});

/** A journal whose batches become durable when a test says so. */
class SlowCommits {
  readonly batches: string[][] = [];
  readonly waits: PromiseWithResolvers<void>[] = [];

  readonly commit = (batch: readonly TimedEvent<Event>[]): Promise<void> => {
    this.batches.push(batch.map(({ event }) => event));
    this.waits.push(Promise.withResolvers());
    return this.waits.at(-1)!.promise;
  };

  async makeDurable(batch: number): Promise<void> {
    this.waits[batch]!.resolve();
    await this.waits[batch]!.promise;
  }
}

Deno.test("Driver: the next events are stepped while a batch is on its way, and effects follow in order, once durable", async () => {
  const slow = new SlowCommits();
  const { driver, timers, state, performed, pressure } = new World({ commit: slow.commit });
  driver.enqueue("a");
  driver.enqueue("b");
  timers.advance(1_000);
  driver.enqueue("c");
  assertEquals([state.taken, performed, pressure], [["a@0", "b@0", "c@1000"], [], []], "no pause, and time goes on");
  await slow.makeDurable(1);
  assertEquals(performed, [], "b is durable, a is not");
  await slow.makeDurable(0);
  assertEquals(performed, ["do a", "do b"]);
  await slow.makeDurable(2);
  assertEquals([performed.at(-1), driver.isSettled], ["do c", true]);
});

Deno.test("Driver: too much on its way pauses the network and is taken up where it stopped", async () => {
  const slow = new SlowCommits();
  let isBehind = false;
  const { driver, state, pressure, performed } = new World({ commit: slow.commit, isBehind: () => isBehind });
  driver.enqueue("a");
  isBehind = true;
  for (const event of ["b", "c"]) driver.enqueue(event);
  assertEquals([state.taken, pressure], [["a@0"], [true]], "by bytes");
  isBehind = false;
  await slow.makeDurable(0);
  assertEquals([slow.batches, pressure, performed], [[["a"], ["b", "c"]], [true, false], ["do a"]]);
  for (let i = 0; i < 2_000; i++) driver.enqueue(`${i}`);
  assertEquals([state.taken.length, pressure.at(-1)], [1 + 1024, true], "by events");
  for (let batch = 1; batch < slow.waits.length; batch++) await slow.makeDurable(batch);
  assertEquals([state.taken.length, performed.length, pressure.at(-1)], [2_003, 2_003, false]);
});

Deno.test("Driver: it settles when what is under way is durable and performed, and takes nothing meanwhile", async () => {
  const slow = new SlowCommits();
  const { driver, performed, state } = new World({ commit: slow.commit });
  driver.enqueue("a");
  driver.enqueue("b");
  driver.settle(() => performed.push("settled"));
  driver.enqueue("c");
  await slow.makeDurable(0);
  assertEquals(performed, ["do a"]);
  await slow.makeDurable(1);
  assertEquals([performed, state.taken.length], [["do a", "do b", "settled"], 2]);
});

Deno.test("Driver: it settles at once when nothing is under way or while it is held", () => {
  const slow = new SlowCommits();
  const { driver, performed } = new World({ commit: slow.commit });
  driver.settle(() => performed.push("nothing"));
  const other = new World({ commit: slow.commit });
  other.driver.enqueue("a");
  other.driver.settle(() => other.performed.push("held"));
  assertEquals(other.performed, []);
  other.driver.hold();
  assertEquals([performed, other.performed, other.driver.isSettled], [["nothing"], ["held"], false]);
});

Deno.test("Driver: what becomes durable while it is held is performed afterwards", async () => {
  for (const isHeldLonger of [true, false]) {
    const slow = new SlowCommits();
    const { driver, state, performed } = new World({
      commit: (batch) => batch[0]?.event === "a" ? slow.commit(batch) : undefined,
    });
    driver.enqueue("a");
    driver.hold();
    driver.enqueue("b");
    if (isHeldLonger) await slow.makeDurable(0);
    else driver.resume();
    assertEquals([performed, state.taken.length], [[], isHeldLonger ? 1 : 2]);
    if (isHeldLonger) driver.resume();
    else await slow.makeDurable(0);
    assertEquals([driver.standsStill, performed], [false, ["do a", "do b"]]);
  }
});

Deno.test("Driver: a commit that fails in the end ends the role, and nothing of it was performed", async () => {
  const waiting = Promise.withResolvers<void>();
  const { driver, performed, failures, state } = new World({ commit: () => waiting.promise });
  driver.enqueue("a");
  waiting.reject(new Error("broken"));
  await waiting.promise.catch(String);
  await Promise.resolve();
  driver.enqueue("b");
  assertEquals([failures.map(String), performed, state.taken.length], [["Error: broken"], [], 1], "b is not taken");
});

Deno.test("Driver: closed while a commit waits, it performs nothing of it", async () => {
  const waiting = Promise.withResolvers<void>();
  const { driver, performed, state } = new World({ commit: () => waiting.promise });
  driver.enqueue("a");
  driver.close();
  driver.enqueue("b");
  driver.flush();
  waiting.resolve();
  await waiting.promise;
  assertEquals([state.taken, performed], [["a@0"], []]);
});

Deno.test("Driver: checks of the whole state take a fiftieth of the time at most, however long one takes", () => {
  const timers = new ManualTimers();
  let checks = 0;
  const driver = new Driver<null, string, string>({
    machine: {
      step: () => [],
      nextDeadlineMs: () => timers.steadyMs() + 10, // a tick every 10 ms
      assertInvariants: () => {
        checks += 1;
        timers.advance(32); // no timer is set meanwhile
      },
    },
    state: null,
    perform: () => {},
    tick: "tick",
    timers,
    inboxMessages: 3,
    onPressure: () => {},
    onFailure: (error) => {
      throw error;
    },
  });
  const fromMs = timers.steadyMs();
  driver.enqueue("begin");
  for (let i = 0; i < 1_600; i++) timers.advance(10);
  const tookMs = timers.steadyMs() - fromMs;
  assert(checks >= 9 && 32 * checks <= 0.02 * tookMs + 32, `${checks} checks in ${tookMs} ms`);
  driver.close();
});

Deno.test("Driver: a full inbox is reported, even while held", () => {
  const { driver } = new World();
  driver.hold();
  for (const event of ["a", "b"]) driver.enqueue(event);
  assert(!driver.isFull);
  driver.enqueue("c");
  assert(driver.isFull);
  driver.resume();
  assert(!driver.isFull);
});
