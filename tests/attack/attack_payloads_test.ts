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
import { commitsBytes, commitsPayload } from "../lab/redteam/hostile_merges.ts";
import { allOf, oneOf, times } from "../lab/redteam/hostile_wires.ts";

const rows = (): readonly Row[] => [
  { name: "one NaN", miners: [{ stage: 0, hostile: commitsPayload(oneOf(NaN)) }] },
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
  { name: "hashes with nothing behind them", miners: [{ stage: 0, hostile: commitsHashesOnly }] },
  {
    name: "a reducer that calls the first payload bad",
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

const int8BlockBytes = 66; // a scale as a bfloat16 number, and 64 codes
const absurd = [0x80, 0x6c]; // 2^90

/** Every second block has this scale, and no codes or its own. */
const blocks = (scale: readonly number[], { codes }: { codes: "none" | "own" }) =>
  commitsBytes((bytes) => {
    for (let at = 0; at < bytes.length; at += 2 * int8BlockBytes) {
      if (codes === "none") bytes.fill(0, at, at + int8BlockBytes);
      bytes.set(scale, at);
    }
    return bytes;
  });

/** Payloads are added in steps of the largest scale, so one that no code needs would erase what the others have learned. */
const ofInt8 = (): readonly Row[] =>
  ([
    {
      name: "a scale of 2^90 and no codes, in every second block",
      hostile: blocks(absurd, { codes: "none" }),
    },
    { name: "a scale of 2^90 in every second block", hostile: blocks(absurd, { codes: "own" }) },
    { name: "a scale that is NaN in every second block", hostile: blocks([0xc0, 0x7f], { codes: "own" }) },
    { name: "a length of one block less", hostile: commitsBytes((bytes) => bytes.slice(0, -int8BlockBytes)) },
    {
      name: "codes of one and scales 126 times as large",
      hostile: commitsBytes((bytes) => {
        for (let at = 0; at < bytes.length; at += int8BlockBytes) {
          const codes = new Int8Array(bytes.buffer, at + 2, Math.min(int8BlockBytes, bytes.length - at) - 2);
          codes.forEach((code, i) => codes[i] = Math.round(code / 126));
          if (bytes[at + 1]! > 0) bytes[at + 1]! += 3; // 2^6 times as large
        }
        return bytes;
      }),
    },
  ] as const).flatMap(({ hostile, ...row }) =>
    (["hub", "replicas"] as const).map((reducers): Row => ({
      ...row,
      name: `${row.name}, reduced by ${reducers}`,
      payload: "int8",
      culprit: "named",
      reducers,
      miners: [{ stage: 0, hostile }],
    }))
  );

testAttacks("payloads of int8", ofInt8);

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
    lossTolerance: 0.75, // of three, directions are not judged: without the bound on its weight it is 1.1
    slownessOf: (place) => place === 2 ? 0.2 : 1,
    miners: [{ stage: 2, hostile: commitsPayload(times(-1.9)) }],
  },
  ...[0, 1, 2].map((stage): Row => ({
    name: `its whole length in the norm gains of stage ${stage}`,
    steps: 24,
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

/** A short payload beside a whole one makes nobody a suspect: at the next jump of the loss the honest one would lose its place. */
const shortMates = (): readonly Row[] =>
  [2, 3].flatMap((replicas) =>
    [0.01, 0.1].map((factor): Row => ({
      name: `all but one of ${replicas} commit ${factor} of their payloads, and the last is not a suspect`,
      replicas,
      culprit: "tolerated",
      lossTolerance: 1,
      miners: Array.from({ length: replicas - 1 }, (_, replica) => ({
        stage: 1,
        replica,
        hostile: commitsPayload(times(factor)),
      })),
      also: (after) => {
        assertNobodyHonestNamed(after);
        for (const [node, { suspectedRound }] of after.state.standings) {
          assert(
            after.hostile.has(node) || suspectedRound === null,
            `${node} is a suspect since round ${suspectedRound}`,
          );
        }
      },
    }))
  );

testAttacks("short payloads", () => [...short(), ...shortMates()]);
testAttacks("plausible payloads", () => plausible().map((row) => ({ ...row, culprit: "tolerated" })));
