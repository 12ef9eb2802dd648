/** A node's history from the log, and what it says would raise the node's pay. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { microbatchId, type NodeId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import type { LogEntry, StepEntry } from "../../../core/ledger/entry.ts";
import { scoresEntry, takeEntry } from "../../../core/ledger/ledger.ts";
import { openLedger } from "../../../core/ledger/ledger_state.ts";
import { effectsOfMiner, type MinerHistory, openHistory, takeIntoHistory } from "../../../core/ledger/miner_history.ts";
import type { Forfeit } from "../../../core/score/work_score.ts";
import { workHash } from "../../../core/statements/statement.ts";
import { answerText, earnedBy } from "../../../cli/observe/ledger/run_explain.ts";
import { adviceFor, historyText as sentences } from "../../../cli/observe/ledger/explain_text.ts";

const [quick, slow, idle] = [nodeId("5Quick"), nodeId("5Slow"), nodeId("5Idle")];
const [first, second] = [nodeId("5First"), nodeId("5Second")]; // validators

/** One stage; quick does three of four tasks, and its microbatches end 0.5 lower. */
function stepOf(step: number): StepEntry {
  const losses = [4, 4.1, 3.9, 4.5 + (step % 2) / 10];
  return {
    ...{ type: "step", step, round: Math.floor(step / 4), miners: [quick, slow], tasks: [3, 1], units: [9, 3] },
    ...{ unpaid: [], loss: losses.reduce((sum, loss) => sum + loss, 0) / 4 },
    pathways: losses.map((loss, i) => ({ microbatch: microbatchId(4 * step + i), doers: [i === 3 ? 1 : 0], loss })),
  };
}

const assigned = (node: NodeId): LogEntry => ({ type: "assigned", node, stage: stageIndex(0), round: 0 });

const failed = (validator: NodeId, miner: NodeId, round: number): LogEntry => ({
  ...{ type: "verdict", validator, round, miner, stage: stageIndex(0), passed: false },
  task: taskId({ microbatch: microbatchId(7), stage: stageIndex(0), direction: "turnaround", attempt: 0 }),
  ...{ innovationError: 0.7, equalShare: 0, lossError: null, tolerance: 0.05 },
});

/** Takes entries as a log's reader does, with the scores that follow each report. */
function historyOf(node: NodeId, entries: readonly LogEntry[]): MinerHistory {
  const ledger = openLedger();
  const history = openHistory(node);
  const take = (entry: LogEntry) => {
    assertEquals(takeEntry(ledger, entry), null);
    takeIntoHistory(history, entry);
    if (entry.type === "round") take(scoresEntry(ledger));
  };
  const joined: LogEntry[] = [quick, slow].map((n) => ({ type: "joined", node: n, role: "miner" }));
  const validators: LogEntry[] = [first, second].map((n) => ({ type: "joined", node: n, role: "validator" }));
  for (const entry of [...joined, ...validators, assigned(quick), assigned(slow), ...entries]) take(entry);
  return history;
}

const round = (index: number, { units = [36, 12], halved = [], expelled = [], ...others }: {
  units?: number[];
  qualities?: number[];
  forfeits?: Forfeit[];
  isLast?: boolean;
  halved?: NodeId[];
  expelled?: NodeId[];
} = {}): LogEntry[] => [
  ...[0, 1, 2, 3].map((i) => stepOf(4 * index + i)),
  { type: "round", round: index, miners: [quick, slow], units, halved, ...others, expelled },
];

const endOf = (index: number): LogEntry => ({
  ...{ type: "round", round: index, miners: [], units: [], halved: [], isLast: true, expelled: [] },
});

const historyText = (history: MinerHistory) => sentences(history, { hasRounds: true });

Deno.test("History: what a node earned in each round, next to its stage-mates, and its share of all scores", () => {
  const { rounds } = historyOf(slow, [...round(0), ...round(1, { isLast: true })]);
  assertEquals(
    rounds.map((
      { round, tasks, matesTasks, credited, score, shareOfScores },
    ) => [round, tasks, matesTasks, credited, score, shareOfScores]),
    [[0, 4, 12, 12, 0, 0], [1, 4, 12, 12, 24, 0.25]],
  );
});

Deno.test("History: advice names what reduces a node's pay, and nothing if nothing does", () => {
  const adviceTo = (node: NodeId, entries: readonly LogEntry[]) =>
    adviceFor(historyOf(node, entries)).map((text) => text.split(":")[0]);
  assertEquals(adviceTo(quick, round(0)), ["Only more work"]);
  assertEquals(adviceTo(slow, round(0)), ["A faster device or link"]);
  assertEquals(adviceTo(quick, round(0, { units: [18, 12], halved: [quick] })), [
    "Meeting every deadline of the merge",
  ]);
  assertEquals(adviceTo(quick, round(0, { units: [9, 12] })), ["Staying until the merge"]);
  const losses = [4.96875, 4.5]; // a sixteenth of the other's gain
  const tried: LogEntry = {
    ...{ type: "tried", round: 0, stage: stageIndex(0), tokens: 65_536, base: 5, miners: [quick, slow], losses },
  };
  const short = [tried, ...round(0, { units: [9, 12], qualities: [0.25, 1] })];
  assertEquals(adviceTo(quick, short), ["Payloads that improve the model"]);
  const text = historyText(historyOf(quick, short)).join("\n");
  assertStringIncludes(text, "25 % of them counted, by the latest leave-one-in evaluation of its payload");
  assert(!text.includes("no payload of the merge contains"), text);
  assertEquals(adviceTo(quick, [failed(first, quick, 0), ...round(0)]), ["Correct outputs"]);
  assertEquals(adviceTo(quick, [...round(0), ...round(1, { expelled: [quick] })]), ["Nothing in this run"]);
});

Deno.test("History: what was taken back before it vested is said, with how to keep it", () => {
  const forfeits = [{ miner: quick, fromRound: 1 }];
  const history = historyOf(quick, [...round(0), ...round(1), ...round(2, { forfeits })]);
  assertEquals(history.rounds.map(({ isForfeited }) => isForfeited), [false, true, false]);
  assertStringIncludes(historyText(history).join("\n"), "36 units credited, forfeited before they vested");
  assertEquals(adviceFor(history).map((line) => line.split(":")[0]), [
    "Staying until it has uploaded the parameters it is asked for",
  ]);
});

Deno.test("History: a validator's failed verdict lowers the score in its own book alone", () => {
  const { rounds } = historyOf(quick, [failed(first, quick, 0), ...round(0, { isLast: true })]);
  assertEquals([rounds[0]?.score, rounds[0]?.withheldBy], [36, [first]]);
});

Deno.test("History: the answer in three lines says what was earned, what is in escrow and why", () => {
  const entries = Array.from({ length: 6 }, (_, i) => round(i)).flat();
  const going = historyOf(quick, entries);
  assertEquals(earnedBy(going), { earned: 72, inEscrow: 144, lost: 0 });
  assertEquals(answerText(going).map((line) => line.slice(0, 11).trim()), ["Earned", "In escrow", "Why"]);
  assertMatch(answerText(going)[1]!, /^In escrow +144 units; the last of it counts once round 9 is reported, or when/);
  const ended = answerText(historyOf(quick, [...entries, endOf(6)]));
  assertMatch(ended[0]!, /^Earned +216 units, 75.0 % of all scores at the run's end$/);
  assertEquals(ended[1], "In escrow  0 units");
  assertEquals(ended[2], "Why        72 tasks in 6 rounds, all credited in full; none was repeated by a validator");
});

Deno.test("History: the answer names the newest reduction, what was lost, and a ban", () => {
  const forfeits = [{ miner: quick, fromRound: 1 }];
  const lost = historyOf(quick, [...round(0), ...round(1), ...round(2, { forfeits })]);
  assertEquals(earnedBy(lost), { earned: 0, inEscrow: 72, lost: 36 });
  assertMatch(answerText(lost)[1]!, /; 36 units lost$/);
  assertMatch(answerText(lost)[2]!, /36 tasks in 3 rounds, 2 of them credited in full; .*; round 1: forfeited before/);
  const expelled = historyOf(quick, [...round(0), ...round(1, { expelled: [quick] })]);
  assertMatch(answerText(expelled)[2]!, /proven to lie/);
});

Deno.test("History: rounds are folded into a line that says how to see them", () => {
  const text = sentences(historyOf(quick, round(0)), { hasRounds: false }).join("\n");
  assertStringIncludes(text, "Each of 1 round: --by-round");
  assert(!text.includes("Round 0"), text);
});

Deno.test("History: says which rounds have not vested yet, and what all are worth when the run ends", () => {
  const entries = Array.from({ length: 6 }, (_, i) => round(i)).flat();
  const dueIn = (history: MinerHistory) => history.rounds.map(({ isDue }) => isDue);
  const going = historyOf(quick, entries);
  assertEquals(dueIn(going), [true, true, false, false, false, false]);
  assertStringIncludes(
    historyText(going).join("\n"),
    "Round 2: 12 tasks in stage 0, 36 units credited, vesting once round 6",
  );
  const ended = historyOf(quick, [...entries, endOf(6)]);
  assertEquals([dueIn(ended), ended.end?.score], [Array(6).fill(true), 6 * 36]);
  assertStringIncludes(
    historyText(ended).join("\n"),
    "At the run's end, with all rounds vested: score 216, 75.0 % of all.",
  );
});

Deno.test("History: the effect of a miner on the loss, with what it takes to know it", () => {
  const [effect] = effectsOfMiner(historyOf(slow, [...Array.from({ length: 10 }, (_, i) => round(i)).flat()]));
  assertEquals([effect?.samples, effect?.moreSteps], [40, 0]);
  assertEquals(effect!.effect > 0.25 && effect!.effect < 0.3, true); // half of the difference to its only mate
});

Deno.test("History: a miner that comes late, when losses have fallen, is not the better for it", () => {
  const falling = Array.from({ length: 20 }, (_, step): LogEntry => {
    const losses = [7, 7.2, 7.1, 7.3].map((loss) => loss - step / 10);
    const late = step < 10 ? [0, 0, 0, 1] : [0, 1, 1, 1];
    const tasks = [late.filter((place) => place === 0).length, late.filter((place) => place === 1).length];
    return {
      ...{ type: "step", step, round: 0, miners: [quick, slow], tasks, units: tasks.map((count) => 3 * count) },
      ...{ unpaid: [], loss: losses.reduce((sum, loss) => sum + loss, 0) / 4 },
      pathways: losses.map((loss, i) => ({
        ...{ microbatch: microbatchId(4 * step + i), loss },
        doers: [late[(i + step) % 4]!], // each as often first as last
      })),
    };
  });
  const [effect] = effectsOfMiner(historyOf(slow, falling));
  assert(Math.abs(effect!.effect) < 3 * effect!.standardError!, JSON.stringify(effect));
});

Deno.test("History: steps of a round that a process without its journal does again are not held against anyone", () => {
  const begun: LogEntry = { ...{ type: "begun", run: "run", hub: quick }, step: 4, round: 1, isJournaled: false };
  const history = historyOf(quick, [...round(0), ...round(1).slice(0, 3), begun, ...round(1)]);
  assertEquals(
    history.rounds.map(({ tasks, earned, credited }) => [tasks, earned, credited]),
    Array(2).fill([12, 36, 36]),
  );
  assertEquals(adviceFor(history), ["Only more work: nothing reduces its pay."]);
});

Deno.test("History: says whose word its verdicts are", () => {
  const found = failed(first, slow, 0);
  if (found.type !== "verdict") throw new Error("a verdict");
  const done = { input: null, gradient: null, output: "ab", losses: null };
  const work = workHash({ task: found.task, ...done });
  const proof = { step: 0, previous: "", root: work, tasks: 1, squareSum: 1, signature: "cd", work: done, path: [] };
  const verdict: LogEntry = { ...found, work, parameters: "initial", signature: "ef", proof };
  const lines = historyText(historyOf(slow, [verdict, ...round(0)]));
  assertEquals(lines.filter((line) => line.includes("signed")), [
    "  Each verdict is signed by its validator.",
    "  Of the 1 result found wrong, it had signed 1 itself.",
  ]);
});

Deno.test("History: in sentences, for a miner and a validator", () => {
  const entries = [failed(first, slow, 0), ...round(0)];
  assertEquals(historyText(historyOf(slow, entries)), [
    "5Slow is a miner of this run.",
    "Its last stage is 0.",
    "",
    "Checked:",
    "  Validators repeated 1 task: 0 passed, 1 failed.",
    "  Round 0: 7.0.turnaround.0 failed by 5First: its output is off by 0.700; 0.05 is allowed.",
    "  A task's name is its microbatch, its stage, its direction and how often it had been handed out before.",
    "  Verdicts signed by their validators: 0 of 1; the orchestrator vouches for the others.",
    "  Of the 1 result found wrong, it had signed 0 itself.",
    "",
    "Earned, in units of a mean stage's forward (a backward counts as two); a score is the sum of 8 rounds; a round vests 4 rounds later, or when the run ends:",
    "  Round 0: 4 tasks in stage 0, 12 units credited, vesting once round 4 is reported; score 0, 0.0 % of all.",
    "",
    "Effect on the loss, from the pathways of its microbatches:",
    "  Stage 0, 4 microbatches: too few for an error bar.",
    "",
    "What would raise its pay:",
    "  Correct outputs: 1 validator withholds its pay until round 12. Check the device with: iota doctor",
    "  A faster device or link: it did 4 tasks, the other miners of its stage 12 on average.",
  ]);
  assertEquals(historyText(historyOf(first, entries)), [
    "5First is a validator of this run.",
    "It repeated 1 task, found 1 of them wrong, and evaluated 0 rounds.",
    "  It found 7.0.turnaround.0 of 5Slow in round 0 wrong.",
    "A task's name is its microbatch, its stage, its direction and how often it had been handed out before.",
  ]);
  assertEquals(historyOf(idle, entries).rounds, []);
});

Deno.test("History: of a node that was banned, and of a validator that repeated its gradient", () => {
  const gradient: LogEntry = {
    ...{ type: "verdict", validator: first, round: 0, miner: slow, stage: stageIndex(0), passed: false, step: 3 },
    task: taskId({ microbatch: microbatchId(7), stage: stageIndex(0), direction: "turnaround", attempt: 0 }),
    ...{ innovationError: 0.75, equalShare: 0, lossError: null, tolerance: 0.01 },
    gradient: { claimed: 4, found: 1, least: 1e-6 },
  };
  const left: LogEntry = { type: "left", node: slow, reason: "its gradient is not the sum of its tasks" };
  const report: LogEntry = {
    ...{ type: "round", round: 0, miners: [quick], units: [36], halved: [], expelled: [slow] },
  };
  const entries = [gradient, left, ...round(0).slice(0, -1), report];
  const text = historyText(historyOf(slow, entries)).join("\n");
  assertStringIncludes(text, "It was banned: its gradient is not the sum of its tasks.");
  assertStringIncludes(
    text,
    "Round 0: 4 tasks in stage 0, 0 units credited, of 12, because it was banned; score 0, 0.0 % of all.",
  );
  assertEquals(historyText(historyOf(first, [gradient])).slice(1), [
    "It repeated 0 tasks and 1 gradient, found 1 of them wrong, and evaluated 0 rounds.",
    "  It found the gradient of step 3 of 5Slow in round 0 wrong.",
  ]);
});
