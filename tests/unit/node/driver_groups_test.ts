/** The driver's groups: what arrives together is made durable together, once, before any of its effects. */

import { assertEquals } from "@std/assert";
import { Driver } from "../../../cli/roles/driver.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

function world(options: { gathers: boolean }) {
  const done: string[] = [];
  const gathered: (() => void)[] = [];
  const driver = new Driver<null, number, string>({
    machine: { step: (_, event) => [`effect ${event}`], nextDeadlineMs: () => null, assertInvariants() {} },
    state: null,
    perform: (effect) => done.push(effect),
    commit(batch) {
      done.push(`commit ${batch.map(({ event }) => event).join(" ")}`);
    },
    tick: null,
    timers: new ManualTimers(),
    inboxMessages: 100,
    onPressure: (isFull) => done.push(isFull ? "full" : "open"),
    onFailure(error) {
      throw error;
    },
    ...(options.gathers ? { gather: (callback) => gathered.push(callback) } : {}),
  });
  return { driver, done, gathered };
}

Deno.test("Driver: what arrives in one turn is one commit, and its effects follow", () => {
  const { driver, done, gathered } = world({ gathers: true });
  for (const event of [1, 2, 3]) driver.enqueue(event);
  assertEquals([done, gathered.length], [[], 1]);
  gathered.pop()!();
  assertEquals(done, ["commit 1 2 3", "effect 1", "effect 2", "effect 3"]);
  driver.enqueue(4);
  gathered.pop()!();
  assertEquals(done.slice(4), ["commit 4", "effect 4"]);
});

Deno.test("Driver: a flush takes at once what has arrived, and nothing twice", () => {
  const { driver, done, gathered } = world({ gathers: true });
  driver.enqueue(1);
  driver.flush();
  assertEquals(done, ["commit 1", "effect 1"]);
  gathered.pop()!();
  driver.enqueue(2);
  driver.close();
  gathered.pop()!();
  assertEquals(done, ["commit 1", "effect 1"], "a closed driver takes nothing");
});

Deno.test("Driver: a full inbox pauses the network while it gathers, and 64 events are one commit", () => {
  const { driver, done, gathered } = world({ gathers: true });
  for (let event = 0; event < 100; event++) driver.enqueue(event);
  assertEquals(done, ["full"]);
  gathered.pop()!();
  const commits = done.filter((line) => line.startsWith("commit"));
  assertEquals([commits.map((line) => line.split(" ").length - 1), done.at(-1)], [[64, 36], "open"]);
});

Deno.test("Driver: without gathering every event is committed as it comes", () => {
  const { driver, done } = world({ gathers: false });
  for (const event of [1, 2]) driver.enqueue(event);
  assertEquals(done, ["commit 1", "effect 1", "commit 2", "effect 2"]);
});
