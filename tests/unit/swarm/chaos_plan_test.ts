/** The language of `swarm --chaos`: its statements, its error messages, and when statements are due. */

import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import { chaosActions, type ChaosPlan, type ChaosStatement, parsePlan } from "../../../cli/swarm/chaos/plan.ts";
import { drawTarget, dueActions, openSchedule } from "../../../cli/swarm/chaos/schedule.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { prngOf } from "../../support/small_prng.ts";
import { cases } from "../../support/whole.ts";

function planOf(text: string): ChaosPlan {
  const parsed = parsePlan(text);
  assert(parsed.ok, `${text}: ${parsed.ok ? "" : parsed.problem}`);
  return parsed.plan;
}

function problemOf(text: string): string {
  const parsed = parsePlan(text);
  assert(!parsed.ok, `'${text}' must be refused`);
  assertMatch(parsed.next, /^For example: --chaos '/);
  return parsed.problem;
}

Deno.test("Chaos plan: each action and each time", () => {
  const check = (text: string, expected: ChaosStatement[]) => assertEquals(planOf(text), expected, text);
  check("kill-miner every 20 steps; kill-orchestrator at step 30", [
    { action: { type: "kill-miner", index: null }, time: { type: "everySteps", steps: 20 } },
    { action: { type: "kill-orchestrator" }, time: { type: "atStep", step: 30 } },
  ]);
  check("kill-miner 2 at round 3", [
    { action: { type: "kill-miner", index: 2 }, time: { type: "atRound", round: 3 } },
  ]);
  check("stop-miner 0 after merge 3;", [
    { action: { type: "stop-miner", index: 0 }, time: { type: "atRound", round: 3 } },
  ]);
  check("  PAUSE-MINER for 2.5\n seconds in merge 1 ", [
    { action: { type: "pause-miner", index: null, seconds: 2.5 }, time: { type: "inMerge", merge: 1 } },
  ]);
  check("add-miner every 1 round;; kill-validator at step 1", [
    { action: { type: "add-miner" }, time: { type: "everyRounds", rounds: 1 } },
    { action: { type: "kill-validator", index: null }, time: { type: "atStep", step: 1 } },
  ]);
});

Deno.test("Chaos plan: a wrong statement is reported with what was expected", () => {
  const check = (text: string, expected: string) => assertEquals(problemOf(text), `Cannot use --chaos: ${expected}`);
  check(" ; ", "it must have a statement, but got ' ; '");
  check(
    "add-miner at step 1; kil-miner at step 3",
    "statement 2 ('kil-miner at step 3') must begin with one of kill-miner, stop-miner, pause-miner, add-miner, " +
      "kill-validator, kill-orchestrator, but got 'kil-miner'. Did you mean kill-miner?",
  );
  check(
    "kill-miner 2",
    "statement 1 ('kill-miner 2') must say when: at step N, every N steps, at round N, after merge N, in merge N or " +
      "every N rounds, but got ''",
  );
  check(
    "kill-miner at ste 4",
    "statement 1 ('kill-miner at ste 4') must have step or round after at, but got 'ste'. " +
      "Did you mean step?",
  );
  check(
    "kill-miner every 0 steps",
    "statement 1 ('kill-miner every 0 steps') must have a period that is a whole number from 1 to 1000000000, " +
      "but got '0'",
  );
  check(
    "kill-miner -1 at step 4",
    "statement 1 ('kill-miner -1 at step 4') must have an index that is a whole number from 0 to 1000000000, " +
      "but got '-1'",
  );
  check(
    "pause-miner at step 4",
    "statement 1 ('pause-miner at step 4') must say how long after pause-miner: for S seconds, but got 'at'",
  );
  check(
    "pause-miner for 9999 seconds at step 4",
    "statement 1 ('pause-miner for 9999 seconds at step 4') must pause for more than 0 and at most 3600 seconds, " +
      "but got '9999'",
  );
  check(
    "add-miner at step 4 kill-miner",
    "statement 1 ('add-miner at step 4 kill-miner') must end after its time or continue with ';', " +
      "but got 'kill-miner'",
  );
  check("add-miner at step 1;".repeat(65), "it must have at most 64 statements, but got '65'");
});

Deno.test("Chaos plan: whatever is typed is a plan or one short sentence", () => {
  const below = prngOf(7);
  const words = [
    ...[...chaosActions, "at", "every", "after", "in", "for", "step", "steps", "round", "rounds", "merge", "seconds"],
    ...["0", "1", "7", "1e9", "99999999999", "-3", "2.5", ".", ";", ";;", "NaN", "__proto__", "constructor", "", "\0"],
    ...["\u{1f4a5}", "\ud800", "kill", "x".repeat(5000), "\n", "\t"],
  ];
  const shapes = ["kill-miner 1 every 7 steps", "pause-miner for 2.5 seconds in merge 1", "add-miner at round 7 ;"];
  let plans = 0;
  for (let round = 0; round < cases(20_000); round++) {
    const picked = Array.from({ length: below(9) }, () => words[below(words.length)]!);
    const shaped = shapes[below(shapes.length)]!.split(" ");
    if (below(2) === 0) shaped.splice(below(shaped.length), below(2), ...picked.slice(0, below(2)));
    const text = (below(2) === 0 ? picked : shaped).join(below(8) === 0 ? "" : " ");
    const parsed = parsePlan(text);
    if (parsed.ok) plans += 1;
    else {
      assertMatch(parsed.problem, /^Cannot use --chaos: .*, but got '/su);
      assertLess(parsed.problem.length, 400);
    }
  }
  assert(plans > cases(4_000) && plans < cases(12_000), `some of them are plans: ${plans}`);
});

// ---------------------------------------------------------------------------------------------------------- when

const started = (step: number, round: number): RunRecord => ({ type: "runStarted", step, round, stages: 3, miners: 6 });
const merging = (round: number): RunRecord => ({ type: "mergePhase", round, stage: 0 as never, phase: "committing" });
const merged = (round: number): RunRecord => ({
  type: "roundMerged",
  round,
  stages: [],
  bytesPerMiner: 0,
  mergeMs: 1,
  draws: "",
});
const closed = (step: number, round = 0): RunRecord => ({
  type: "stepClosed",
  step,
  steps: 100,
  round,
  loss: 1,
  learningRate: 1,
  gradientNorm: 1,
  clipFactor: 1,
  tokens: 1,
  stepMs: 1,
});

/** The places in `records` at which the plan's one statement is due. */
function duePlaces(text: string, records: readonly RunRecord[]): number[] {
  const schedule = openSchedule(planOf(text), 1);
  return records.flatMap((record, place) => dueActions(schedule, record).map(() => place));
}

Deno.test("Chaos schedule: a step is due when it is closed, and once, though a restart repeats it", () => {
  const records = [started(0, 0), closed(1), closed(2), started(0, 0), closed(1), closed(2), closed(3)];
  assertEquals(duePlaces("kill-orchestrator at step 2", records), [2]);
  assertEquals(duePlaces("kill-miner every 1 steps", records), [1, 2, 6]);
  assertEquals(duePlaces("kill-miner every 2 steps", records), [2]);
});

Deno.test("Chaos schedule: a moment that no record named is due with the next one", () => {
  const records = [started(0, 0), closed(1), started(4, 0), closed(5)];
  assertEquals(duePlaces("kill-miner at step 3", records), [2]);
  assertEquals(duePlaces("kill-miner every 2 steps", records), [2]);
});

Deno.test("Chaos schedule: statements before a resumed run's step are past", () => {
  assertEquals(duePlaces("kill-miner at step 30", [started(60, 6), closed(61, 6)]), []);
  assertEquals(duePlaces("kill-miner at step 61", [closed(61, 6)]), [0]);
  assertEquals(duePlaces("kill-miner at round 6", [started(60, 6), closed(61, 6), merged(7)]), []);
  assertEquals(duePlaces("kill-miner every 2 rounds", [merged(6), started(60, 6), merged(7), merged(8)]), [3]);
});

Deno.test("Chaos schedule: a merge has a beginning and an end", () => {
  const records = [started(0, 0), closed(5), merging(0), merging(0), merged(1), started(0, 0), merging(0), merged(1)];
  assertEquals(duePlaces("kill-miner in merge 1", records), [2]);
  assertEquals(duePlaces("kill-miner after merge 1", records), [4]);
  assertEquals(duePlaces("kill-miner at round 1", records), [4]);
});

Deno.test("Chaos schedule: one seed draws the same targets, and all are drawn", () => {
  const draw = (seed: number) => {
    const schedule = openSchedule(planOf("kill-miner every 1 steps"), seed);
    return Array.from({ length: 40 }, () => drawTarget(schedule, ["miner-0", "miner-1", "miner-2"]));
  };
  assertEquals(draw(5), draw(5));
  assertEquals(new Set(draw(5)).size, 3);
  assertEquals(drawTarget(openSchedule([], 1), []), null);
});
