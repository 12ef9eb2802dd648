/** Commits that wait for their reveal, as text and as fields. */

import type { EpochState, PendingCommit, SubnetParameters } from "../../../chain/chain.ts";
import { revealBlockOf } from "../../../chain/epochs/epochs.ts";
import { type CommandTo, inBlocks } from "./chain_words.ts";

interface CommitMoment {
  readonly epoch: EpochState;
  readonly parameters: Pick<SubnetParameters, "revealPeriodEpochs" | "blockMs">;
}

interface ToldMoment extends CommitMoment {
  readonly commandTo: CommandTo;
}

export function commitFields(commit: PendingCommit, moment: CommitMoment) {
  const { committedBlock, revealRound } = commit;
  return {
    kind: revealRound === null ? "salted" : "timelocked",
    committedBlock,
    revealBlock: revealBlock(commit, moment), // the first in which it is or can be revealed
    revealRound: revealRound === null ? null : String(revealRound),
  };
}

export function commitLine(commit: PendingCommit, moment: ToldMoment): string {
  return `committed in block ${commit.committedBlock}, ${revealText(commit, moment)}`;
}

export function revealText(commit: PendingCommit, moment: ToldMoment): string {
  const { epoch: { block }, parameters: { blockMs } } = moment;
  const atBlock = revealBlock(commit, moment);
  if (atBlock === null) return "never revealed, as no epoch runs";
  if (commit.revealRound !== null) {
    if (atBlock > block) return `revealed by the chain ${inBlocks(atBlock - block, blockMs)}`;
    return `due, and waiting for drand round ${commit.revealRound}`;
  }
  if (atBlock <= block + 1) return `to be revealed now: ${moment.commandTo("commit --reveal")}`;
  return `to be revealed ${inBlocks(atBlock - block, blockMs)}`;
}

function revealBlock({ committedBlock, revealFromBlock }: PendingCommit, moment: CommitMoment): number | null {
  const { epoch, parameters: { revealPeriodEpochs } } = moment;
  return revealFromBlock ?? revealBlockOf(epoch, { committedBlock, revealPeriodEpochs });
}
