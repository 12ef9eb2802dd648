/** Attack suite: false words about the norm of a gradient, which decides how far everybody steps. Audits recompute it. */

import { assertNobodyHonestNamed, type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { reportsNorm } from "../lab/redteam/hostile_merges.ts";
import { everySecond } from "../support/attack/hostile_duties.ts";

const always = (value: number) => reportsNorm(() => value);
const times = (factor: number) => reportsNorm((squareSum) => factor * squareSum);

const rows = (): readonly Row[] => [
  { name: "1e300", miners: [{ stage: 0, hostile: always(1e300) }] },
  { name: "zero", culprit: "out", miners: [{ stage: 1, hostile: always(0) }] },
  { name: "1e-300", miners: [{ stage: 2, hostile: always(1e-300) }] },
  {
    name: "zero, two of three",
    culprit: "out",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: always(0) })),
    also: assertNobodyHonestNamed,
  },
  { name: "negative", miners: [{ stage: 1, hostile: always(-1) }] },
  { name: "NaN", miners: [{ stage: 1, hostile: always(NaN) }] },
  {
    name: "a hundred times the square",
    culprit: "out",
    miners: [{ stage: 2, hostile: times(100) }],
  },
  { name: "a millionth of the square", culprit: "out", miners: [{ stage: 0, hostile: times(1e-6) }] },
  { name: "1e300 every second time", miners: [{ stage: 1, hostile: everySecond(always(1e300)) }] },
  { name: "1e300 after two honest rounds", fromRound: 2, miners: [{ stage: 0, hostile: always(1e300) }] },
  {
    name: "two attackers of one stage, a hundred times the square",
    culprit: "out",
    miners: [{ stage: 1, hostile: times(100) }, { stage: 1, replica: 1, hostile: times(100) }],
  },
  {
    name: "two attackers of two stages, 1e300 and zero",
    culprit: "out",
    miners: [{ stage: 0, hostile: always(1e300) }, { stage: 2, replica: 2, hostile: always(0) }],
  },
];

/** Half of all audited steps, so that four rounds are enough to find everybody. */
testAttacks("norms", () => rows().map((row) => ({ gradients: 1, ...row })));
