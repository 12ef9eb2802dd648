/** Attack suite: what a miner can send on the wires between stages, and claim about those it receives. */

import { assertEquals } from "@std/assert";
import { assertTrained, type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { runAttack } from "../support/attack/attacked_run.ts";
import {
  allOf,
  biased,
  oneOf,
  refusesInputs,
  reportsLoss,
  spoilsForward,
  spoilsGradients,
  times,
} from "../lab/redteam/hostile_wires.ts";
import { skipsLayers } from "../lab/redteam/hostile_tasks.ts";
import {
  codesOffByOne,
  everyNthRow,
  forgesIds,
  namesHugeMicrobatch,
  onlyLargest,
  sendsPattern,
  sendsUndefinedCode,
  shoutsWhenLarge,
  tamed,
} from "../support/attack/hostile_values.ts";
import { slowTest } from "../support/whole.ts";

const rows = (): readonly Row[] => [
  { name: "NaN in a forward wire of the head", miners: [{ stage: 0, hostile: spoilsForward(oneOf(NaN)) }] },
  { name: "NaN in a forward wire of the middle", miners: [{ stage: 1, hostile: spoilsForward(oneOf(NaN)) }] },
  {
    name: "NaN in a gradient of the tail",
    miners: [{ stage: 2, hostile: spoilsGradients(oneOf(NaN)) }],
  },
  { name: "NaN in a gradient of the middle", miners: [{ stage: 1, hostile: spoilsGradients(oneOf(NaN)) }] },
  { name: "infinity in a forward wire", miners: [{ stage: 0, hostile: spoilsForward(oneOf(Infinity)) }] },
  { name: "minus infinity in a gradient", miners: [{ stage: 2, hostile: spoilsGradients(oneOf(-Infinity)) }] },
  {
    name: "a forward wire of quiet and signalling NaN patterns",
    miners: [{ stage: 0, hostile: sendsPattern([0xc0, 0x7f, 0x01, 0xff]) }],
  },
  {
    name: "a huge finite value in a forward wire",
    miners: [{ stage: 0, hostile: spoilsForward(oneOf(3e38)) }],
  },
  {
    name: "ids of no token in a forward wire",
    sideWidth: 8,
    miners: [{ stage: 0, hostile: forgesIds((id, vocabSize) => id + vocabSize) }],
  },
  {
    name: "a code that no encoder writes in a gradient of the tail",
    gradientBits: 8,
    miners: [{ stage: 2, hostile: sendsUndefinedCode }],
  },
  {
    name: "a code that no encoder writes in a gradient of the middle, of two replicas",
    gradientBits: 4,
    replicas: 2,
    miners: [{ stage: 1, hostile: sendsUndefinedCode }],
  },
  {
    name: "results of a microbatch that no dataset has",
    sideWidth: 8,
    miners: [{ stage: 0, hostile: namesHugeMicrobatch }],
  },
  { name: "a forward wire of huge finite values", miners: [{ stage: 1, hostile: spoilsForward(allOf(3e38)) }] },
  {
    name: "a huge finite value in a gradient",
    miners: [{ stage: 2, hostile: spoilsGradients(oneOf(3e38)) }],
  },
  { name: "a gradient of huge finite values", miners: [{ stage: 1, hostile: spoilsGradients(allOf(-3e38)) }] },
  { name: "a loss of 1e300", miners: [{ stage: 2, hostile: reportsLoss(1e300) }] },
  {
    name: "a tail that refuses every good input",
    culprit: "out",
    miners: [{ stage: 2, hostile: refusesInputs }],
  },
  { name: "a middle that refuses every good input", culprit: "out", miners: [{ stage: 1, hostile: refusesInputs }] },
  {
    name: "two attackers, NaN in a forward wire and in a gradient",
    miners: [{ stage: 0, hostile: spoilsForward(oneOf(NaN)) }, {
      stage: 2,
      replica: 1,
      hostile: spoilsGradients(oneOf(NaN)),
    }],
  },
];

testAttacks("wires", rows);

/**
 * Finite, and no larger than an honest stage's: only repeating the task reveals it. A validator finds it wrong, the orchestrator proves
 * it, and the round begins anew without the culprit.
 */
const plausible = (): readonly Row[] => [
  { name: "zeros forward", culprit: "named", miners: [{ stage: 0, hostile: spoilsForward(allOf(0)) }] },
  { name: "zeros as gradients", culprit: "named", miners: [{ stage: 2, hostile: spoilsGradients(allOf(0)) }] },
  // In wires of 640 values the root mean square is a seventh of an honest one; in real ones, of a million, one among zeros is refused.
  {
    name: "one ordinary value among zeros in a forward wire",
    isQuick: true,

    miners: [{ stage: 0, hostile: spoilsForward(onlyLargest) }],
  },
  {
    name: "one ordinary value among zeros in a gradient",

    miners: [{ stage: 2, hostile: spoilsGradients(onlyLargest) }],
  },
  {
    name: "gradients with the wrong sign, ten times too large",
    miners: [{ stage: 2, hostile: spoilsGradients(times(-10)) }],
  },
  {
    name: "forward wires ten times too large, after an honest round",
    fromRound: 1,
    miners: [{ stage: 1, hostile: spoilsForward(times(10)) }],
  },
  {
    name: "gradients off by just under half their length",
    miners: [{ stage: 2, hostile: spoilsGradients(biased(0.48)) }],
  },
  { name: "forward wires off by a tenth", miners: [{ stage: 0, hostile: spoilsForward(biased(0.1)) }] },
  // Codes may differ by one where a value is near the edge of two, but not in a whole gradient.
  {
    name: "gradients in 4 bits, all codes off by one",
    gradientBits: 4,
    miners: [{ stage: 2, hostile: spoilsGradients(codesOffByOne(4)) }],
  },
  {
    name: "gradients in 4 bits, zeros",
    gradientBits: 4,
    culprit: "named",
    miners: [{ stage: 2, hostile: spoilsGradients(allOf(0)) }],
  },
  {
    name: "gradients in 4 bits, a middle that skips its layers",
    gradientBits: 4,
    miners: [{ stage: 1, hostile: skipsLayers }],
  },
  {
    name: "ids of other tokens behind honest values",
    sideWidth: 8,
    miners: [{ stage: 1, hostile: forgesIds((id, vocabSize) => (id + 1) % vocabSize) }],
  },
  { name: "a loss of zero", miners: [{ stage: 2, hostile: reportsLoss(0) }] },
  { name: "a loss of minus zero", miners: [{ stage: 2, hostile: reportsLoss(-0) }] },
];

testAttacks("plausible wires", () => plausible().map((row) => ({ culprit: "out", ...row })));

/**
 * A head and a replica of the next stage: the first sends wires that make honest gradients large, the second makes
 * claims that frame others or stall the step.
 */
const pairs = (): readonly Row[] =>
  [
    { name: "and NaN where honest values are large", hostile: spoilsGradients(shoutsWhenLarge(NaN)) },
    { name: "and 1e9 where honest values are large", hostile: spoilsGradients(shoutsWhenLarge(1e9)) },
  ].map(({ hostile, ...row }) => ({
    ...row,
    fromRound: 1,
    lossTolerance: 0.12,
    miners: [{ stage: 0, hostile: spoilsForward(everyNthRow(10)) }, { stage: 1, hostile }],
  }));

testAttacks("rows of zeros", () => pairs().map((row) => ({ ...row, culprit: "tolerated" })));

/**
 * Its small gradients look plausible where honest ones are large, so it does the work of the honest ones, who go unpaid
 * for what they did. Only a repetition can tell, but no node is banned.
 */
slowTest("Attack, rows of zeros: small gradients where honest ones are large get no node banned", async () => {
  const after = await runAttack({
    fromRound: 1,
    miners: [{ stage: 0, hostile: spoilsForward(everyNthRow(10)) }, {
      stage: 1,
      hostile: spoilsGradients(tamed(0.003)),
    }],
  });
  assertTrained(after);
  const honest = after.miners.filter((node) => !after.hostile.has(node));
  assertEquals(honest.filter((node) => !after.members.has(node)), []);
  assertEquals(after.records.filter((record) => record.type === "blamed" && honest.includes(record.node)), []);
});
