/** Attack suite: miners that take a place and withhold what others wait for. Each costs one deadline, not one per round. */

import { assert, assertEquals } from "@std/assert";
import { reducedByReplicas, type Row, testAttacks, unitsByRound } from "../support/attack/attack_checks.ts";
import { type Aftermath, rounds, steps } from "../support/attack/attacked_run.ts";
import type { Hostile } from "../lab/redteam/hostile_node.ts";
import {
  commitsHashesOnly,
  everySecond,
  joinsInsteadOf,
  leavesInsteadOf,
  missesPayloads,
  reducesToSize,
  reducesWithoutStoring,
  refuses,
  uploadsNothing,
  withholdsInTurn,
} from "../support/attack/hostile_duties.ts";
import { keepsBack, leavesConfirmed } from "../lab/redteam/hostile_merges.ts";

const rows = (): readonly Row[] => [
  { name: "tasks are never answered", miners: [{ stage: 1, hostile: keepsBack("taskDone") }] },
  { name: "tasks of the tail are never answered", miners: [{ stage: 2, hostile: keepsBack("taskDone") }] },
  { name: "gradients are never committed", miners: [{ stage: 0, hostile: keepsBack("stepSealed") }] },
  {
    name: "payloads are never committed",
    miners: [{ stage: 0, hostile: keepsBack("payloadCommitted") }],
  },
  { name: "payloads are committed and not stored", miners: [{ stage: 1, hostile: commitsHashesOnly }] },
  { name: "slices are never reduced", miners: [{ stage: 1, hostile: keepsBack("sliceReduced") }] },
  {
    name: "merged parameters are never shown",
    miners: [{ stage: 2, hostile: keepsBack("mergeApplied") }],
  },
  {
    name: "parameters are never uploaded",
    culprit: "named", // it is asked once, and later only if no other node is left
    miners: [{ stage: 0, hostile: keepsBack("parametersUploaded") }],
    also: (after) => {
      const units = unitsByRound(after, after.miners[0]!);
      assert(
        Math.min(...units) <= 0.75 * Math.max(...units),
        `the round that waited for it is not paid in full: ${units}`,
      );
    },
  },
  {
    name: "parameters of the last round are not uploaded",
    fromRound: rounds,
    culprit: "tolerated", // its only duty since
    miners: [0, 1, 2].map((stage) => ({ stage, hostile: keepsBack("parametersUploaded") })),
  },
  {
    name: "parameters are said to be uploaded and are not stored",
    culprit: "named", // a blob lost by the store looks the same
    miners: [{ stage: 0, hostile: uploadsNothing }],
  },
  { name: "a reducer misses payloads that are there", miners: [{ stage: 1, hostile: missesPayloads }] },
  {
    name: "a reducer's results are not stored",
    culprit: "tolerated",
    miners: [{ stage: 1, hostile: reducesWithoutStoring }],
  },
  {
    name: "the results of two of three reducers are not stored",
    culprit: "tolerated",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: reducesWithoutStoring })),
  },
];

const inTurn = (): readonly Row[] => [
  {
    name: "the stage is never loaded",
    culprit: "unpaid",
    miners: [{ stage: 1, replica: 2, hostile: keepsBack("ready") }],
  },
  {
    name: "after two good rounds nothing is answered any more",
    fromRound: 2,
    miners: [{
      stage: 1,
      hostile: keepsBack("taskDone", "stepSealed", "payloadCommitted", "sliceReduced", "mergeApplied"),
    }],
  },
  {
    name: "two of a stage never reduce",
    miners: [0, 1].map((replica) => ({ stage: 1, replica, hostile: keepsBack("sliceReduced") })),
  },
  {
    name: "two of two stages, one commits nothing, one shows nothing",
    miners: [
      { stage: 0, hostile: keepsBack("payloadCommitted") },
      { stage: 2, replica: 1, hostile: keepsBack("mergeApplied") },
    ],
  },
  {
    name: "another answer of the merge each round",
    isQuick: true,
    miners: [{ stage: 1, hostile: withholdsInTurn("payloadCommitted", "sliceReduced", "mergeApplied") }],
  },
  {
    name: "every second answer, of a step and of the merge",
    miners: [{
      stage: 1,
      hostile: everySecond(keepsBack("payloadCommitted", "sliceReduced", "mergeApplied", "stepSealed")),
    }],
  },
  { name: "every second gradient commitment", miners: [{ stage: 1, hostile: everySecond(keepsBack("stepSealed")) }] },
  { name: "every second payload", miners: [{ stage: 1, hostile: everySecond(keepsBack("payloadCommitted")) }] },
  awayAtDeadlines(),
];

/** Commits nothing, and has no link whenever the deadline passes. */
function awayAtDeadlines(): Row {
  let sinceMs = -1, cutMs = -1;
  return {
    name: "payloads, by a miner that has no link whenever the deadline passes",
    slowRounds: 2, // the first time may be bad luck
    miners: [{ stage: 1, hostile: keepsBack("payloadCommitted") }],
    meddle: (swarm, miners) => {
      const { link } = swarm.member(miners[1]!);
      const { nowMs } = swarm.clock;
      if (swarm.orchestrator.state.merge?.stages[1]?.phase !== "committing") sinceMs = -1;
      else if (sinceMs < 0) sinceMs = nowMs;
      if (sinceMs > 0 && cutMs < 0 && nowMs >= sinceMs + 18_500) {
        cutMs = nowMs;
        link.unreachable = true;
        link.cut();
      }
      if (cutMs < 0 || nowMs < cutMs + 2_300) return;
      link.unreachable = false;
      cutMs = -1;
      sinceMs = nowMs;
    },
  };
}

testAttacks("withholding", () => reducedByReplicas([...rows(), ...inTurn()]));

const two = (hostile: Hostile) => [0, 1].map((replica) => ({ stage: 1, replica, hostile }));

/** What is computed in a round is in no merge by its maker's own doing: it is paid as little as if it had been kept back. */
const unmerged = (): readonly Row[] => [
  { name: "a payload", miners: [{ stage: 1, hostile: refuses("payloadCommitted") }] },
  { name: "merged parameters", miners: [{ stage: 1, hostile: refuses("mergeApplied") }] },
  { name: "a slice", miners: [{ stage: 1, hostile: refuses("sliceReduced") }] },
  { name: "payloads, two of three", lossTolerance: 0.05, miners: two(refuses("payloadCommitted")) },
  { name: "every second payload", miners: [{ stage: 1, hostile: everySecond(refuses("payloadCommitted")) }] },
];
testAttacks("refusing", () => reducedByReplicas(unmerged()));

testAttacks("not taking part", () =>
  reducedByReplicas([
    { name: "slices have the wrong size", miners: [{ stage: 1, hostile: reducesToSize(4) }] },
    {
      name: "leaves and joins in place of a payload",
      miners: [{ stage: 1, hostile: leavesInsteadOf("payloadCommitted") }],
    },
    {
      name: "leaves and joins after the last gradient commitment of each round",
      culprit: "unpaid",
      miners: [{ stage: 1, hostile: leavesConfirmed((step) => (step + 1) % (steps / rounds) === 0) }],
      also: (after) => assertEquals(unitsByRound(after, after.miners[1]!).slice(1).filter((units) => units > 0), []),
    },
    {
      name: "leaves and joins after every gradient commitment, two of three",
      culprit: "unpaid",
      lossTolerance: 0.05,
      miners: two(leavesConfirmed(() => true)),
    },
    {
      name: "leaves and joins in place of merged parameters",
      miners: [{ stage: 1, hostile: leavesInsteadOf("mergeApplied") }],
    },
    {
      name: "begins a new membership in place of a payload",
      culprit: "named", // as who was killed does: the first time is free
      miners: [{ stage: 1, hostile: joinsInsteadOf("payloadCommitted") }],
      also: (after) => assertUnpaidFrom(after, { node: after.miners[1]!, round: 1 }),
    },
  ]));

function assertUnpaidFrom(after: Aftermath, { node, round }: { node: string; round: number }): void {
  const [own, peers] = [node, after.miners[4]!].map((each) => unitsByRound(after, each).slice(round));
  const sum = (units: readonly number[]) => units.reduce((total, each) => total + each, 0);
  assert(sum(own!) <= 0.75 * sum(peers!), `${own}, its peer ${peers}`);
}
