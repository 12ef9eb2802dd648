/** `lab experiment audits`: its arithmetic, what it counts of what validators are asked, and cheats laid over draws. */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { AuditBook } from "../../lab/experiments/audits/audit_book.ts";
import { auditCost, auditRows } from "../../lab/experiments/audits/audit_rows.ts";
import { binomialBand, chanceToMeet, medianRounds } from "../../lab/experiments/audits/expected_audits.ts";
import type { WatchedRun } from "../../lab/experiments/audits/watch_audits.ts";
import { type BlobRef, type Direction, nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import type { HubMessage } from "../../../core/protocol/message.ts";
import { tinyConfig, type TinyOverrides } from "../../support/tiny_model.ts";

const configOf = ({ train, ...others }: TinyOverrides = {}) =>
  tinyConfig({
    deterministic: false,
    model: { layers: 3 },
    pipeline: { stages: 3, codec: "none" },
    ...others,
    train: { microbatchesPerStep: 4, stepsPerRound: 3, ...train },
  });

Deno.test("Audits: the chance to meet a cheat is that of the first step and of the later ones that are drawn", () => {
  const missed = 0.9 ** 2; // a pass of two tasks
  const config = configOf();
  assertAlmostEquals(chanceToMeet(config, "body", 0.1), 1 - missed * ((1 + missed) / 2) ** 2, 1e-12);
  assertAlmostEquals(chanceToMeet(configOf({ train: { stepsPerRound: 1 } }), "body", 0.1), 1 - missed, 1e-12);
  assertAlmostEquals(chanceToMeet(configOf({ train: { stepsPerRound: 2 } }), "head", 0.1), 1 - missed ** 2, 1e-12);
  assertEquals(chanceToMeet(config, "tail", 1), 1);
  assertEquals(chanceToMeet(config, "tail", 0), 0);
  const capped = configOf({ validate: { statesPerRound: 0 } });
  assertAlmostEquals(chanceToMeet(capped, "head", 0.1), 1 - missed, 1e-12);
});

Deno.test("Audits: at most as many later steps count as the orchestrator may draw", () => {
  const config = configOf({ train: { stepsPerRound: 4 }, validate: { statesPerRound: 100 } }); // all three later ones
  assertAlmostEquals(chanceToMeet(config, "body", 0.1), 1 - 0.81 ** 4, 1e-12);
});

Deno.test("Audits: the band of a count leaves out what happens at most once in 200 times on either side", () => {
  assertEquals(binomialBand(10, 0.5), [1, 9]); // none or all: 1 in 1,024; one or less: 1 in 93
  assertEquals(binomialBand(400, 0.5), [174, 226]);
  assertEquals([binomialBand(7, 1), binomialBand(7, 0), binomialBand(0, 0.5)], [[7, 7], [0, 0], [0, 0]]);
  assertEquals([medianRounds(1), medianRounds(0.5), medianRounds(0.19)], [1, 1, 4]);
});

const ref = { hash: "00", bytes: 1 } as unknown as BlobRef;

function bookOf(config: ReturnType<typeof configOf>, rounds = 2) {
  const book = new AuditBook(config, rounds);
  const note = (message: HubMessage, segments = 2) =>
    book.note({
      ...{ type: "send", to: nodeId("judge"), message },
      attachments: Array.from({ length: segments }, () => ({ type: "blob", ref })),
    });
  const replay = (microbatch: number, stage: number, direction: Direction, round = 0) =>
    note({
      ...{ type: "replay", request: 0, round, miner: nodeId(`miner-${stage}`), stage: stageIndex(stage), direction },
      ...{ task: `${microbatch}.${stage}.${direction}.1` as TaskId, losses: null, source: { type: "initial" } },
    });
  return { book, note, replay };
}

Deno.test("Audits: a repeated backward costs two forwards right after its own forward, three otherwise", () => {
  const { book, note, replay } = bookOf(configOf());
  const unit = book.trained(1) / 9; // three equal stages, three forwards each; the head's and tail's extra is small
  const costOf = (act: () => void) => {
    const before = book.flops.replays;
    act();
    return Math.round((book.flops.replays - before) / unit);
  };
  const evaluate = () => note({ type: "evaluate", request: 0, round: 0, sources: [], isTrial: false });
  assertEquals(costOf(() => replay(4, 1, "forward")), 1);
  assertEquals(costOf(() => replay(4, 1, "backward")), 2);
  assertEquals(costOf(() => replay(4, 1, "backward")), 3, "its activations are gone");
  replay(5, 1, "forward");
  assertEquals(costOf(() => replay(6, 1, "backward")), 3, "of another microbatch");
  replay(6, 1, "forward");
  evaluate();
  assertEquals(costOf(() => replay(6, 1, "backward")), 3, "the evaluation needed the memory");
  assertEquals(costOf(() => replay(4, 2, "turnaround")) >= 3, true);
  assertEquals(costOf(() => replay(4, 1, "forward", 2)), 0, "rounds that are not over do not count");
  assertEquals(book.tasksOf(nodeId("miner-1"), 0).length, 5, "each task once");
});

Deno.test("Audits: evaluations, trials and gradients are counted apart", () => {
  const config = configOf({ validate: { heldOutSequences: 8 }, train: { sequencesPerMicrobatch: 2 } });
  const { book, note } = bookOf(config);
  const whole = book.trained(1) / 3; // a forward of the model
  note({ type: "evaluate", request: 0, round: 0, sources: [], isTrial: false });
  note({ type: "evaluate", request: 0, round: 1, sources: [], isTrial: true });
  note({ type: "evaluate", request: 0, round: 1, sources: [], isTrial: true });
  assertEquals([book.flops.evaluations, book.flops.trials], [4 * whole, 8 * whole]);
  for (const stage of [0, 1, 2]) {
    note({
      ...{ type: "repeatGradient", request: 0, round: 0, step: 0, miner: nodeId("m"), stage: stageIndex(stage) },
      ...{ task: "1.1.backward.1" as TaskId, direction: "backward", first: 0, isLast: true },
      source: { type: "initial" },
    }, 10);
  }
  assertAlmostEquals(book.flops.gradients, 5 * book.trained(1), 1e-9);
});

Deno.test("Audits: a cheater is met in the rounds whose repeated tasks it cheated in", () => {
  const config = configOf({ validate: { statesPerRound: 0 } });
  const taskAt = (round: number, task: number) => `${round}.1.forward.${task}` as TaskId;
  const rounds = Array.from({ length: 400 }, (_, round) => [taskAt(round, 0), taskAt(round, 1)]);
  const auditFlops = { replays: 30, gradients: 10, evaluations: 5, trials: 5 };
  const run: WatchedRun = { config, miners: [{ place: "body", rounds }], minerFlops: 1000, auditFlops };
  const rows = auditRows([run]);
  const ofBody = rows.filter(({ place }) => place === "body");
  for (const { share, tasks, rounds, tens, median, expectedMedian } of ofBody) {
    assertEquals([tasks, rounds.of, tens.of], [2, 400, 40]);
    assertAlmostEquals(rounds.expected, 1 - (1 - share) ** 2, 1e-12);
    assertEquals([rounds.isWithin, tens.isWithin], [true, true], `${share}`);
    if (share >= 0.1) assertEquals(Math.abs(median! - expectedMedian) <= 1, true, `${share}`); // of one miner
  }
  const missing: WatchedRun = { ...run, miners: [{ place: "body", rounds: rounds.map(() => []) }] };
  const [always] = auditRows([missing]).filter(({ place }) => place === "body");
  assertEquals([always!.rounds.met, always!.rounds.isWithin, always!.median], [0, false, null]);
  const { validatorShare, parts } = auditCost([run, run]);
  assertAlmostEquals(validatorShare, 0.05, 1e-12);
  assertEquals(parts, { replays: 0.03, gradients: 0.01, evaluations: 0.005, trials: 0.005 });
});
