/**
 * Attack suite: audits of steps after a round's first. A miner that cheats only there, and what it can show instead of the
 * parameters it worked with.
 */

import { type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { commitsPayload, copiesPayload } from "../lab/redteam/hostile_merges.ts";
import { rounds, steps } from "../support/attack/attacked_run.ts";
import { inLaterSteps, showsNothing } from "../lab/redteam/hostile_states.ts";
import { showsChange, showsUnstored } from "../support/attack/hostile_shows.ts";
import { together } from "../lab/redteam/hostile_node.ts";
import { allOf, biased, spoilsForward, spoilsGradients, times } from "../lab/redteam/hostile_wires.ts";

const stepsPerRound = steps / rounds;

const cheats = (): readonly Row[] => [
  {
    name: "zeros forward, but never in a round's first step",
    culprit: "named", // zeros are refused as implausible before anybody repeats them
    miners: [{ stage: 0, hostile: inLaterSteps({ spoil: allOf(0), stepsPerRound }, spoilsForward) }],
  },
  {
    name: "gradients with the wrong sign, but never in a round's first step",
    miners: [{ stage: 2, hostile: inLaterSteps({ spoil: times(-1), stepsPerRound }, spoilsGradients) }],
  },
  {
    name: "gradients off by just under half their length, but never in a round's first step",
    miners: [{ stage: 1, hostile: inLaterSteps({ spoil: biased(0.48), stepsPerRound }, spoilsGradients) }],
  },
];

testAttacks("later steps", () => cheats().map((row) => ({ culprit: "out", ...row })));

const shown = (): readonly Row[] =>
  [
    { name: "nothing, by a cheat", hostile: showsNothing },
    { name: "a blob that nobody has", hostile: showsUnstored },
    { name: "NaN", hostile: showsChange(NaN) },
    { name: "a change of a thousand", hostile: showsChange(1000) },
  ].map(({ hostile, ...row }) => ({
    ...row,
    miners: [{
      stage: 0,
      hostile: together(inLaterSteps({ spoil: biased(0.3), stepsPerRound }, spoilsForward), hostile),
    }],
  }));

testAttacks("parameters shown", shown);

/** In rounds of eight steps, whose last one's parameters are far from where the payload ends. */
const payloads = (): readonly Row[] =>
  [
    { name: "the wrong sign", hostile: commitsPayload(times(-1)) },
    { name: "ten times its change", hostile: commitsPayload(times(10)) },
    { name: "what it committed in the first round", hostile: copiesPayload() },
  ].map(({ hostile, ...row }) => ({ ...row, steps: 32, culprit: "out", miners: [{ stage: 1, hostile }] }));

testAttacks("payloads of opened parameters", payloads);

const nothing = (): readonly Row[] => [
  { name: "zeros", culprit: "named", miners: [{ stage: 1, hostile: commitsPayload(allOf(0)) }] },
];

testAttacks("payloads of nothing", nothing);
