/** Attack suite: false words about the norm of a gradient, which decides how far everybody steps. */

import { assertNobodyHonestNamed, type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { reportsNorm } from "../../cli/redteam/hostile_merges.ts";
import { everySecond } from "../support/attack/hostile_duties.ts";

const always = (value: number) => reportsNorm(() => value);
const times = (factor: number) => reportsNorm((squareSum) => factor * squareSum);

const rows = (): readonly Row[] => [
  { name: "1e300", isQuick: true, miners: [{ stage: 0, hostile: always(1e300) }] },
  // What some gradient has is nobody's fault, however unlike the others' it is: it must do no harm, no more.
  { name: "zero", culprit: "tolerated", miners: [{ stage: 1, hostile: always(0) }] },
  { name: "1e-300", miners: [{ stage: 2, hostile: always(1e-300) }] },
  {
    name: "zero, two of three",
    isQuick: true,
    culprit: "tolerated",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: always(0) })),
    also: assertNobodyHonestNamed,
  },
  { name: "negative", miners: [{ stage: 1, hostile: always(-1) }] },
  { name: "NaN", miners: [{ stage: 1, hostile: always(NaN) }] },
  {
    name: "a hundred times the square",
    culprit: "tolerated", // undetectable, but it must do no harm
    miners: [{ stage: 2, hostile: times(100) }],
  },
  { name: "a millionth of the square", culprit: "tolerated", miners: [{ stage: 0, hostile: times(1e-6) }] },
  { name: "1e300 every second time", miners: [{ stage: 1, hostile: everySecond(always(1e300)) }] },
  { name: "1e300 after two honest rounds", fromRound: 2, miners: [{ stage: 0, hostile: always(1e300) }] },
  {
    name: "two attackers of one stage, a hundred times the square",
    culprit: "tolerated",
    miners: [{ stage: 1, hostile: times(100) }, { stage: 1, replica: 1, hostile: times(100) }],
  },
  {
    name: "two attackers of two stages, 1e300 and zero",
    culprit: "tolerated", // only one of them says what no gradient has
    miners: [{ stage: 0, hostile: always(1e300) }, { stage: 2, replica: 2, hostile: always(0) }],
  },
];

testAttacks("norms", rows);
