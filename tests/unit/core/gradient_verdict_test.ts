/** The rule for a repeated gradient, and the log's proof of it. */

import { assertEquals, assertMatch } from "@std/assert";
import { nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import type { MachineEntry } from "../../../core/ledger/entry.ts";
import { takeEntry } from "../../../core/ledger/ledger.ts";
import { openLedger } from "../../../core/ledger/ledger_state.ts";
import {
  gradientError,
  gradientRepetition,
  gradientTolerance,
  judgeGradient,
} from "../../../core/score/gradient_verdict.ts";
import { type GradientSquares, judgeAsReferee, verdictFacts } from "../../../core/score/verdict.ts";

const audited = { round: 2, miner: nodeId("miner-0"), stage: stageIndex(0), task: "0.0.backward.0" as TaskId };
const judged = (squares: GradientSquares) => judgeGradient(audited, squares).type;

Deno.test("Gradient verdict: a difference of more than a hundredth of the larger square fails", () => {
  for (
    const [claimed, found, least, expected] of [
      [1, 1, 0, "passed"],
      [1, 0.991, 0, "passed"],
      [0.989, 1, 0, "failed"],
      [1, 0.989, 0, "failed"],
      [1e6, 1, 0, "failed"],
      [1e-6, 1, 0, "failed"],
      [0, 1, 1e-6, "failed"],
      [1e90, 1, 1e-6, "failed"],
      [0, 0, 0, "passed"],
      [1e-9, 1e-14, 1e-6, "passed"], // what rounding leaves of parts that cancel out
      [1e-7, 0, 1e-6, "failed"],
    ] as const
  ) assertEquals(judged({ claimed, found, least }), expected, `${claimed} ${found} ${least}`);
});

Deno.test("Gradient verdict: the orchestrator's repetition proves a lie, or that there was none, only clearly", () => {
  const ruled = (found: number) =>
    judgeAsReferee(gradientRepetition({ claimed: 1, found, least: 0 }), gradientTolerance);
  assertEquals([1, 1.00001, 1.004].map(ruled), ["honest", "honest", "honest"]);
  assertEquals([1.006, 0.9945, 0.9901].map(ruled), ["unclear", "unclear", "unclear"]);
  assertEquals([0.98, 1.02, 0].map(ruled), ["madeUp", "madeUp", "madeUp"]);
});

Deno.test("Gradient verdict: the log's entry states what was claimed and found, and its error must follow", () => {
  const squares = { claimed: 4, found: 1, least: 1e-6 };
  const facts = verdictFacts(judgeGradient(audited, squares))!;
  const entry: MachineEntry = { type: "verdict", validator: nodeId("judge"), ...facts };
  assertEquals([entry.passed, entry.gradient, entry.innovationError], [false, squares, gradientError(squares)]);
  const ledger = openLedger();
  assertEquals(takeEntry(ledger, entry), null);
  assertEquals([...ledger.ofValidators.keys()], [nodeId("judge")], "its book withholds the pay");
  const wrong = /^the verdict on the gradient of 0\.0\.backward\.0 states an error of/;
  assertMatch(takeEntry(openLedger(), { ...entry, innovationError: 0, passed: true }) ?? "", wrong);
  assertMatch(takeEntry(openLedger(), { ...entry, tolerance: 1, passed: true }) ?? "", wrong);
  assertMatch(
    takeEntry(openLedger(), { ...entry, passed: true }) ?? "",
    /contradicts its own numbers, by which it failed/,
  );
});
