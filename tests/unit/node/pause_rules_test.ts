/** When a miner pauses: schedules, the decision, what sensors print, and the watch that asks them. */

import { assert, assertEquals } from "@std/assert";
import { otherLoad } from "../../../cli/node/idle/machine_load.ts";
import { PauseWatch, type PauseWatchOptions, readSensorText } from "../../../cli/node/idle/pause_watch.ts";
import {
  decide,
  type PauseRules,
  type Readings,
  running,
  unknowable,
  type Verdict,
} from "../../../cli/node/idle/rules.ts";
import { isWithin, parseSchedule, type Schedule } from "../../../cli/node/idle/schedule.ts";
import { idle } from "../../support/idle.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

function scheduleOf(text: string): Schedule {
  const parsed = parseSchedule(text);
  assert(parsed.ok, `${text} must be a schedule`);
  return parsed.schedule;
}

const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function isOpen(text: string, when: string): boolean {
  const [day, time] = when.split(" ");
  const [hour, minute] = time!.split(":").map(Number);
  return isWithin(scheduleOf(text), { weekday: days.indexOf(day!), minute: 60 * hour! + minute! });
}

const hours: readonly { schedule: string; open: readonly string[]; closed: readonly string[] }[] = [
  { schedule: "9:00-17:00", open: ["mon 9:00", "sun 16:59"], closed: ["mon 8:59", "mon 17:00"] },
  { schedule: "22:00-07:00", open: ["mon 22:00", "tue 0:00", "tue 6:59"], closed: ["tue 7:00", "tue 21:59"] },
  {
    schedule: "fri 22:00-07:00",
    open: ["fri 22:00", "fri 23:59", "sat 0:00", "sat 6:59"],
    closed: ["fri 6:59", "fri 0:00", "sat 7:00", "sat 22:00"],
  },
  {
    schedule: "mon-fri 22:00-07:00; sat,sun 0:00-24:00",
    open: ["mon 23:00", "sat 3:00", "sat 12:00", "sun 23:59", "tue 1:00"],
    closed: ["mon 3:00", "mon 12:00", "fri 21:59"],
  },
  { schedule: "mon 9:00-12:00,13:00-17:00", open: ["mon 11:59", "mon 13:00"], closed: ["mon 12:30", "tue 10:00"] },
  { schedule: "Fri-Mon 0:00-24:00", open: ["fri 0:00", "sun 5:00", "mon 23:59"], closed: ["tue 0:00", "thu 23:59"] },
];

for (const { schedule, open, closed } of hours) {
  Deno.test(`Schedule: ${schedule} is open and closed at the right minutes`, () => {
    for (const when of open) assertEquals(isOpen(schedule, when), true, when);
    for (const when of closed) assertEquals(isOpen(schedule, when), false, when);
  });
}

Deno.test("Schedule: an invalid one is rejected with the wrong part", () => {
  const wrong: Record<string, string> = {
    "": "''",
    "22-7": "'22-7'",
    "25:00-7:00": "'25:00-7:00'",
    "9:60-10:00": "'9:60-10:00'",
    "9:00-9:00": "'9:00-9:00'",
    "24:00-9:00": "'24:00-9:00'",
    "someday 9:00-10:00": "'someday'",
    "mon-tue-wed 9:00-10:00": "'mon-tue-wed'",
    "mon": "''",
    "9:00-10:00;": "''",
  };
  for (const [text, value] of Object.entries(wrong)) {
    const parsed = parseSchedule(text);
    assert(!parsed.ok && parsed.problem.endsWith(value), `${text}: ${JSON.stringify(parsed)}`);
  }
});

const anyRules: PauseRules = { schedule: null, idleOnly: true, mainsOnly: true, maxCelsius: 80 };
const calm: Readings = {
  at: { weekday: 1, minute: 0 },
  isHeld: false,
  otherLoad: 0.1,
  userIdleMs: 1e9,
  onMains: true,
  celsius: 50,
};
const restsFor = (cause: string): Verdict => ({ runs: false, cause, reason: "" }) as Verdict;

const decisions: readonly { what: string; readings: Partial<Readings>; before?: string; cause: string | null }[] = [
  { what: "a calm machine", readings: {}, cause: null },
  { what: "a hand, before all rules", readings: { isHeld: true, celsius: 99 }, cause: "hand" },
  { what: "the battery", readings: { onMains: false }, cause: "battery" },
  { what: "heat above the limit", readings: { celsius: 80.5 }, cause: "temperature" },
  { what: "heat at the limit", readings: { celsius: 80 }, cause: null },
  { what: "heat that has not gone far down", readings: { celsius: 76 }, before: "temperature", cause: "temperature" },
  { what: "heat that has", readings: { celsius: 75 }, before: "temperature", cause: null },
  { what: "heat below the limit after another cause", readings: { celsius: 76 }, before: "load", cause: null },
  { what: "others' load", readings: { otherLoad: 0.31 }, cause: "load" },
  { what: "load that trembles below the limit", readings: { otherLoad: 0.2 }, before: "load", cause: "load" },
  { what: "load that went away", readings: { otherLoad: 0.1 }, before: "load", cause: null },
  { what: "a person at the keyboard", readings: { userIdleMs: 1_000 }, cause: "user" },
  { what: "a person who just left", readings: { userIdleMs: 100_000 }, before: "user", cause: "user" },
  { what: "a person who left long ago", readings: { userIdleMs: 300_000 }, before: "user", cause: null },
  { what: "nothing known", readings: { otherLoad: null, userIdleMs: null, onMains: null, celsius: null }, cause: null },
];

for (const { what, readings, before, cause } of decisions) {
  Deno.test(`Pause rules: ${what} decides for ${cause ?? "work"}`, () => {
    const verdict = decide(anyRules, { ...calm, ...readings }, before === undefined ? running : restsFor(before));
    assertEquals(verdict.runs ? null : verdict.cause, cause);
  });
}

Deno.test("Pause rules: without any, a miner pauses only by hand", () => {
  const none: PauseRules = { schedule: null, idleOnly: false, mainsOnly: false, maxCelsius: null };
  const worst = { ...calm, otherLoad: 1, userIdleMs: 0, onMains: false, celsius: 140 };
  assertEquals(decide(none, worst, running), running);
  assertEquals(decide(none, { ...worst, isHeld: true }, running).runs, false);
  assertEquals(unknowable(none, { ...worst, onMains: null, celsius: null }), []);
  assertEquals(unknowable(anyRules, { ...calm, onMains: null, celsius: null, otherLoad: null }), [
    "--max-temp",
    "--mains-only",
    "--idle-only",
  ]);
});

Deno.test("Sensors: a laptop, a desktop and a Mac are understood, nonsense counts for nothing", () => {
  const laptop = "online Mains 0\nbattery Discharging\nmillidegrees 45000\nmillidegrees 71500\nmillidegrees 999999";
  assertEquals(readSensorText(laptop), { userIdleMs: null, onMains: false, celsius: 71.5 });
  assertEquals(readSensorText("online Mains 1\nbattery Charging").onMains, true);
  assertEquals(readSensorText("battery Not charging").onMains, true);
  assertEquals(readSensorText(""), { userIdleMs: null, onMains: true, celsius: null }); // no battery at all
  assertEquals(readSensorText("millidegrees hot\nnonsense\n \nmillidegrees"), readSensorText(""));
  assertEquals(readSensorText("source Battery Power\nidleNanoseconds 2500000000"), {
    userIdleMs: 2500,
    onMains: false,
    celsius: null,
  });
  assertEquals(readSensorText("source AC Power").onMains, true);
});

Deno.test("Other load: this process's own work does not count", () => {
  const before = { allMs: 0, idleMs: 0, ownMs: 0 };
  assertEquals(otherLoad(before, { allMs: 1000, idleMs: 0, ownMs: 1000 }), 0);
  assertEquals(otherLoad(before, { allMs: 1000, idleMs: 500, ownMs: 250 }), 0.25);
  assertEquals(otherLoad(before, { allMs: 1000, idleMs: 900, ownMs: 500 }), 0, "books of different grain");
  assertEquals(otherLoad(before, { allMs: 100, idleMs: 0, ownMs: 0 }), null, "too short");
});

function watchOf(options: Partial<PauseWatchOptions>, timers = new ManualTimers()) {
  const said: string[] = [];
  const watch = new PauseWatch({
    rules: { schedule: null, idleOnly: false, mainsOnly: false, maxCelsius: null },
    timers,
    now: () => new Date(2026, 0, 5, 12, 0),
    readTimes: () => ({ allMs: 0, idleMs: 0, ownMs: 0 }),
    readSensors: null,
    ...options,
  });
  watch.onChange((verdict) => said.push(verdict.runs ? "runs" : verdict.cause));
  return { watch, said, timers };
}

Deno.test("Pause watch: a change is reported once, after the reading that found it", async () => {
  let celsius = 50;
  const rules = { schedule: null, idleOnly: false, mainsOnly: false, maxCelsius: 80 };
  const readSensors = () => Promise.resolve(`millidegrees ${1000 * celsius}`);
  const { watch, said, timers } = watchOf({ rules, readSensors });
  assertEquals(await watch.start(), []);
  const look = async () => {
    timers.advance(10_000);
    await idle();
  };
  await look();
  celsius = 85;
  await look();
  await look();
  celsius = 60;
  await look();
  watch.stop();
  celsius = 90;
  await look();
  assertEquals(said, ["temperature", "runs"]);
});

Deno.test("Pause watch: a sensor process that ended leaves the last word standing until it is known better", async () => {
  let text: string | null = "battery Discharging";
  const rules = { schedule: null, idleOnly: false, mainsOnly: true, maxCelsius: null };
  const { watch, said, timers } = watchOf({ rules, readSensors: () => Promise.resolve(text) });
  await watch.start();
  text = null;
  timers.advance(10_000);
  await idle();
  watch.stop();
  assertEquals([said, watch.verdict.runs], [["battery"], false]);
});

Deno.test("Pause watch: its owner pauses it and resumes it", async () => {
  const { watch, said } = watchOf({});
  await watch.start();
  await watch.toggle();
  await watch.toggle();
  watch.stop();
  assertEquals(said, ["hand", "runs"]);
});

Deno.test("Pause watch: rules that the machine cannot keep are named at the first look", async () => {
  const rules = { schedule: null, idleOnly: false, mainsOnly: true, maxCelsius: 70 };
  const { watch } = watchOf({ rules });
  assertEquals(await watch.start(), ["--max-temp", "--mains-only"]);
  watch.stop();
});
