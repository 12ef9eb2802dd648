/** Attack suite: miners that take a place and withhold what others wait for. Each costs one deadline, not one per round. */

import { assert } from "@std/assert";
import { type Row, testAttacks, unitsByRound } from "../support/attack/attack_checks.ts";
import { rounds } from "../support/attack/attack_world.ts";
import {
  commitsHashesOnly,
  keepsBack,
  missesPayloads,
  reducesWithoutStoring,
  uploadsNothing,
} from "../support/attack/hostile_merges.ts";

const rows: readonly Row[] = [
  { name: "tasks are never answered", isQuick: true, miners: [{ stage: 1, hostile: keepsBack("taskDone") }] },
  { name: "tasks of the tail are never answered", miners: [{ stage: 2, hostile: keepsBack("taskDone") }] },
  { name: "gradients are never confirmed", miners: [{ stage: 0, hostile: keepsBack("stepSealed") }] },
  {
    name: "payloads are never committed",
    isQuick: true,
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
];

testAttacks("withholding", rows);
