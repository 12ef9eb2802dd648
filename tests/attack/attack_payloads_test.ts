/** Attack suite: payloads of a merge that would poison the mean, that are not there, or that are called bad without being so. */

import { assert } from "@std/assert";
import { assertNobodyHonestNamed, type Row, testAttacks, unitsByRound } from "../support/attack/attack_checks.ts";
import {
  accusesInput,
  commitsHashesOnly,
  gathersInColumn,
  gathersPayload,
  scalesTensors,
} from "../support/attack/hostile_duties.ts";
import { commitsPayload } from "../../cli/redteam/hostile_merges.ts";
import { allOf, oneOf, times } from "../../cli/redteam/hostile_wires.ts";

const rows = (): readonly Row[] => [
  { name: "one NaN", isQuick: true, miners: [{ stage: 0, hostile: commitsPayload(oneOf(NaN)) }] },
  { name: "all NaN", miners: [{ stage: 1, hostile: commitsPayload(allOf(NaN)) }] },
  { name: "one infinity", miners: [{ stage: 1, hostile: commitsPayload(oneOf(Infinity)) }] },
  { name: "one value of 1e30", miners: [{ stage: 1, hostile: commitsPayload(oneOf(1e30)) }] },
  { name: "all values 1e30", miners: [{ stage: 2, hostile: commitsPayload(allOf(1e30)) }] },
  {
    name: "ten times its payload with the wrong sign",
    miners: [{ stage: 1, hostile: commitsPayload(times(-10)) }],
  },
  { name: "a thousand times its payload", miners: [{ stage: 2, hostile: commitsPayload(times(1000)) }] },
  {
    name: "a thousand times its payload, after two honest rounds",
    fromRound: 2,
    miners: [{ stage: 0, hostile: commitsPayload(times(1000)) }],
  },
  { name: "hashes with nothing behind them", isQuick: true, miners: [{ stage: 0, hostile: commitsHashesOnly }] },
  {
    name: "a reducer that calls the first payload bad",
    isQuick: true,
    reducers: "replicas",
    miners: [{ stage: 1, hostile: accusesInput(0) }],
  },
  {
    name: "a reducer that calls the last payload bad",
    reducers: "replicas",
    miners: [{ stage: 2, replica: 2, hostile: accusesInput(2) }],
  },
  {
    name: "two attackers in two stages, NaN and 1e30",
    miners: [{ stage: 0, hostile: commitsPayload(oneOf(NaN)) }, {
      stage: 1,
      replica: 2,
      hostile: commitsPayload(allOf(1e30)),
    }],
  },
];

testAttacks("payloads", rows);

/** Within every bound for a payload by itself; its shape and direction among its peers tell (payload_weights.ts). */
const plausible = (): readonly Row[] => [
  { name: "zeros", steps: 24, miners: [{ stage: 2, hostile: commitsPayload(allOf(0)) }] },
  { name: "the wrong sign", miners: [{ stage: 1, hostile: commitsPayload(times(-1)) }] },
  ...[-1, -1.95].map((factor): Row => ({
    name: `${factor} times its payload, one of four`,
    replicas: 4,
    steps: 24,
    miners: [{ stage: 2, hostile: commitsPayload(times(factor)) }],
  })),
  {
    name: "the head alone with the wrong sign, one of five",
    replicas: 5,
    steps: 24,
    miners: [{ stage: 2, hostile: scalesTensors(-1.9, /lm_head/) }],
  },
  ...[0, 0.25].map((honest): Row => ({
    name: `1.9 times the length of the embeddings in one column, ${honest} of it as computed, one of five`,
    replicas: 5,
    width: 64,
    steps: 24,
    miners: [{ stage: 0, hostile: gathersInColumn(1.9, { honest, names: /embed/ }) }],
  })),
  {
    name: "-1.9 times its payload, one of three that does half of the work",
    steps: 24,
    isQuick: true,
    lossTolerance: 0.75, // of three, directions are not judged: without the bound on its weight it is 1.1
    slownessOf: (place) => place === 2 ? 0.2 : 1,
    miners: [{ stage: 2, hostile: commitsPayload(times(-1.9)) }],
  },
  ...[0, 1, 2].map((stage): Row => ({
    name: `its whole length in the norm gains of stage ${stage}`,
    steps: 24,
    isQuick: stage === 2,
    miners: [{ stage, hostile: gathersPayload(1.9, /norm/) }],
  })),
  {
    name: "the wrong sign, two of three",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: commitsPayload(times(-1)) })),
  },
];

/** Two of three make hardly any way: the honest one stays in the merge, is paid and accused of nothing. */
const short = (): readonly Row[] =>
  [1e-3, 0.1].map((factor) => ({
    name: `two of three commit ${factor} of their payloads`,
    culprit: "tolerated",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: commitsPayload(times(factor)) })),
    also: (after) => {
      assertNobodyHonestNamed(after);
      const [honest, calm] = [after.miners[2 * 3 + 1]!, after.miners[2 * 3]!].map((node) => unitsByRound(after, node));
      assert(honest!.every((units) => units > 0), `${honest}, its neighbours ${calm}`);
    },
  }));

testAttacks("short payloads", short);
testAttacks("plausible payloads", () => plausible().map((row) => ({ ...row, culprit: "tolerated" })));
