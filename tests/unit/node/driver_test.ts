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

Deno.test("Driver: a commit that waits keeps its effects, and what comes meanwhile follows them", async () => {
  const waiting = Promise.withResolvers<void>();
  const batches: string[][] = [];
  const { driver, timers, state, performed, pressure } = new World({
    commit: (batch: readonly TimedEvent<Event>[]) => {
      batches.push(batch.map(({ event }) => event));
      return batches.length === 1 ? waiting.promise : undefined;
    },
  });
  driver.enqueue("a");
  driver.enqueue("b");
  timers.advance(7_000);
  assertEquals([state.taken, performed, driver.standsStill, pressure], [["a@0"], [], true, [true]]);
  waiting.resolve();
  await waiting.promise;
  assertEquals([performed, batches], [["do a", "do b"], [["a"], ["b"]]]);
  assertEquals([state.taken, driver.standsStill, pressure], [["a@0", "b@0"], false, [true, false]]);
});

Deno.test("Driver: held and waiting, it resumes when both are over, whichever ends first", async () => {
  for (const isHeldLonger of [true, false]) {
    const waiting = Promise.withResolvers<void>();
    const { driver, state, performed } = new World({
      commit: (batch) => batch[0]?.event === "a" ? waiting.promise : undefined,
    });
    driver.enqueue("a");
    driver.hold();
    driver.enqueue("b");
    if (isHeldLonger) waiting.resolve();
    else driver.resume();
    await Promise.resolve();
    assertEquals([driver.standsStill, state.taken.length], [true, 1]);
    if (isHeldLonger) driver.resume();
    else waiting.resolve();
    await waiting.promise;
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
  assertEquals([failures.map(String), performed, state.taken.length], [["Error: broken"], [], 1]);
});

Deno.test("Driver: closed while a commit waits, it performs nothing of it", async () => {
  const waiting = Promise.withResolvers<void>();
  const { driver, performed, state } = new World({ commit: () => waiting.promise });
  driver.enqueue("a");
  driver.enqueue("b");
  driver.flush();
  driver.close();
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
