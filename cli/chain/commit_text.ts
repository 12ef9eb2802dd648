/** Commits of weights that wait for their reveal, as a line for people and fields for programs. Pure. */

import type { PendingCommit } from "../../chain/chain.ts";
import { type BeaconClock, timeOfRoundMs } from "../../chain/timelock/beacon.ts";
import { roughly } from "../screen/format.ts";
import { inBlocks } from "./chain_words.ts";

export interface CommitMoment {
  readonly block: number; // the newest
  readonly blockMs: number;
  readonly nowMs: number;
  readonly beacon: BeaconClock;
}

export function commitFields(commit: PendingCommit, { nowMs, beacon }: CommitMoment) {
  const { committedBlock, revealRound, revealFromBlock } = commit;
  return {
    kind: revealRound === null ? "salted" : "timelocked",
    committedBlock,
    revealFromBlock,
    revealRound: revealRound === null ? null : String(revealRound),
    roundInMs: revealRound === null ? null : Math.max(0, timeOfRoundMs(beacon, revealRound) - nowMs),
  };
}

export function commitLine(commit: PendingCommit, moment: CommitMoment): string {
  return `committed in block ${commit.committedBlock}, ${revealText(commit, moment)}`;
}

function revealText({ revealRound, revealFromBlock }: PendingCommit, moment: CommitMoment): string {
  const { block, blockMs, nowMs, beacon } = moment;
  if (revealRound !== null) {
    const waitMs = timeOfRoundMs(beacon, revealRound) - nowMs;
    const when = waitMs <= 0
      ? "in its epoch, the pulse is out"
      : `in its epoch, not before ${roughly(waitMs)} from now`;
    return `revealed by the chain ${when} (drand round ${revealRound})`;
  }
  if (revealFromBlock === null) return "to be revealed in a later epoch";
  if (revealFromBlock <= block + 1) return "to be revealed now: iota chain commit --reveal";
  return `to be revealed from block ${revealFromBlock} on, ${inBlocks(revealFromBlock - block, blockMs)}`;
}
