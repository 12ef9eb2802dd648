/**
 * Attack suite: audits of steps after a round's first. A miner that cheats only there, and what it can show instead of the
 * parameters it worked with.
 */

import { type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { inLaterSteps, showsNothing, showsOther, showsUnstored } from "../support/attack/hostile_states.ts";
import { together } from "../support/attack/hostile_node.ts";
import { allOf, biased, spoilsForward, spoilsGradients, times } from "../support/attack/hostile_wires.ts";

const cheats = (): readonly Row[] => [
  {
    name: "zeros forward, but never in a round's first step",
    culprit: "named", // zeros are refused as implausible before anybody repeats them
    miners: [{ stage: 0, hostile: inLaterSteps(allOf(0), spoilsForward) }],
  },
  {
    name: "gradients with the wrong sign, but never in a round's first step",
    miners: [{ stage: 2, hostile: inLaterSteps(times(-1), spoilsGradients) }],
  },
  {
    name: "gradients off by just under half their length, but never in a round's first step",
    isQuick: true,
    miners: [{ stage: 1, hostile: inLaterSteps(biased(0.48), spoilsGradients) }],
  },
];

testAttacks("later steps", () => cheats().map((row) => ({ culprit: "out", ...row })));

const shown = (): readonly Row[] =>
  [
    { name: "nothing, by a cheat", isQuick: true, hostile: showsNothing },
    { name: "a blob that nobody has", hostile: showsUnstored },
    { name: "NaN", isQuick: true, hostile: showsOther((length) => new Float32Array(length).fill(NaN)) },
    { name: "parameters of a thousand", hostile: showsOther((length) => new Float32Array(length).fill(1000)) },
  ].map(({ hostile, ...row }) => ({
    ...row,
    miners: [{ stage: 0, hostile: together(inLaterSteps(biased(0.3), spoilsForward), hostile) }],
  }));

testAttacks("parameters shown", shown);
