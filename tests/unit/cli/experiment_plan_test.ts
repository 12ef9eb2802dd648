/** `lab experiment`: which rows and runs its options choose, and the rows that an interrupted one has. Nothing is trained. */

import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { present } from "../../../core/assert.ts";
import type { KnobValue } from "../../../core/config/knob.ts";
import { withRows } from "../../lab/experiments/chosen_rows.ts";
import { rowsOf, tableOf } from "../../lab/experiments/experiment_rows.ts";
import { type Experiment, experiments } from "../../lab/experiments/experiments.ts";
import { planRows } from "../../lab/experiments/planned_rows.ts";
import { configOf } from "../../lab/world/lab_settings.ts";
import type { LabResult } from "../../lab/world/run_lab.ts";
import { UsageError } from "../../../cli/program/errors.ts";

const experimentOf = (name: string): Experiment => present(experiments[name], "an experiment");

const planOf = (name: string, overrides: Record<string, KnobValue> = {}, size = "toy") =>
  planRows(experimentOf(name), { input: { size, overrides }, seeds: [1] });

const trainOf = (name: string, overrides: Record<string, KnobValue> = {}) =>
  planOf(name, overrides).rows.map(({ configs }) => configs[0]!.train);

Deno.test("Experiment: a round that the experiment or a row sets is no longer than the run", () => {
  for (const { steps, stepsPerRound } of trainOf("merge", { "train.steps": 4 })) {
    assertEquals([steps, stepsPerRound], [4, 4]);
  }
  const lengths = new Set(trainOf("swarm", { "train.steps": 4 }).map(({ stepsPerRound }) => stepsPerRound));
  assertEquals(lengths, new Set([1, 4]));
  const common = { "train.steps": 100, "train.stepsPerRound": 10 };
  const roundOf = (overrides: Record<string, KnobValue>) =>
    configOf({ common, input: { size: "toy", overrides }, fixed: {} }).train.stepsPerRound;
  assertEquals([roundOf({}), roundOf({ "train.steps": 4 })], [10, 4]);
  assertEquals(roundOf({ "train.steps": 4, "train.stepsPerRound": 2 }), 2);
});

Deno.test("Experiment: a round that was typed and is longer than the run is refused", () => {
  const typed = { "train.steps": 4, "train.stepsPerRound": 8 };
  assertThrows(() => planOf("merge", typed), UsageError, "train.stepsPerRound must not be larger than train.steps");
});

Deno.test("Experiment: links takes steps, of which rows of larger steps do fewer, at equal tokens", () => {
  const stepsOf = (overrides?: Record<string, KnobValue>) =>
    new Set(
      trainOf("links", overrides).map(({ steps, microbatchesPerStep }) => [microbatchesPerStep, steps].join(" x ")),
    );
  assertEquals(stepsOf(), new Set(["8 x 240", "16 x 120", "32 x 60"]));
  assertEquals(stepsOf({ "train.steps": 12 }), new Set(["8 x 12", "16 x 6", "32 x 3"]));
  const uneven = assertThrows(
    () => planOf("links", { "train.steps": 10 }),
    UsageError,
    "train.steps is 10, not a multiple of 4, so the row '32 microbatches' would train on another number of tokens",
  );
  assertEquals(uneven.next, "For example: --steps 12");
});

Deno.test("Experiment: a row that is the same run as an earlier one at this size is left out, and named", () => {
  const { rows, repetitions } = planOf("codecs");
  assertEquals(repetitions, [
    { name: "iota d/32", earlier: "iota d/16" },
    { name: "q4block 3d/32", earlier: "q4block d/8" },
  ]);
  assertEquals(rows.length, experimentOf("codecs").rows.length - 2);
  for (const name of Object.keys(experiments)) assertEquals(planOf(name, {}, "tiny").repetitions, []);
});

Deno.test("Experiment: --rows splits at the commas that are not part of a name", () => {
  const namesOf = (text: string) => withRows(experimentOf("merge"), text).rows.slice(1).map(({ name }) => name);
  assertEquals(namesOf("sparse 1/16, rate 1"), ["sparse 1/16, rate 1"]);
  assertEquals(namesOf("int8,sparse 1/64, rate 1"), ["int8", "sparse 1/64, rate 1"]);
  assertEquals(namesOf("int8, DiLoCo"), ["float32 DiLoCo", "int8"]);
  assertEquals(namesOf("sparse 1/16, int8, rate 2"), ["int8", "sparse 1/16, rate 1", "sparse 1/23, rate 2"]);
});

const resultOf = (loss: number): LabResult => ({
  ...{ loss, bytesForward: 1, bytesBackward: 1, mergeBytesPerParameter: 0, tokensPerSecond: 1, tokens: 1 },
  validatorShare: null,
});

Deno.test("Experiment: each row names the control that its gap is to, and a table with two controls says so", () => {
  const ofRows = (names: readonly string[]) => {
    const { rows } = experimentOf("codecs");
    const chosen = names.map((name) => present(rows.find((row) => row.name === name), name));
    return rowsOf(chosen.map((row, i) => ({ row, ofSeeds: [resultOf(2 + i)] })));
  };
  const two = ofRows(["none", "zero", "none + side", "q5block d/16 + side"]);
  assertEquals(two.map(({ control, gap }) => [control, gap]), [[null, 0], ["none", 1], [null, 0], ["none + side", 1]]);
  assertEquals(tableOf(two).slice(-2), ["gap to none: zero", "gap to none + side: q5block d/16 + side"]);
  assertEquals(tableOf(ofRows(["none", "zero"])).length, 3, "a heading and two rows");
});

Deno.test("Experiment: an interrupted one compares what has ended, each row with the control of its seeds", () => {
  const rows = experimentOf("codecs").rows.slice(0, 4);
  const losses = [[2, 4], [5, 8], [3], []];
  const ended = rowsOf(rows.map((row, i) => ({ row, ofSeeds: losses[i]!.map(resultOf) })));
  assertEquals(ended.map(({ name, seeds }) => [name, seeds]), [["none", 2], ["zero", 2], ["tail alone", 1]]);
  const [none, zero, tail] = ended;
  assertEquals([none!.utility, zero!.utility, tail!.gap, tail!.standardError], [1, 0, 1, null]);
  assertAlmostEquals(tail!.utility!, (5 - 3) / (5 - 2), 1e-12);
});
