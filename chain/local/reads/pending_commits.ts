/** Commits of a hotkey that can still become weights, oldest first: salted and timelocked ones. */

import type { Address } from "../../call.ts";
import type { EpochState, PendingCommit } from "../../chain.ts";
import { epochIndex, nextEpochBlock, stateAt } from "../../epochs/epochs.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { accountOf } from "../calls/account_key.ts";
import { keyOf } from "../state/records.ts";
import { epochStateOf } from "./epoch_state.ts";
import type { ReadableChain } from "./readable_chain.ts";

export function pendingCommitsOf(
  chain: ReadableChain,
  of: { readonly netuid: number; readonly hotkey: Address; readonly mechanism: number },
): PendingCommit[] {
  const { state } = chain;
  const index = storageIndex(of);
  const account = accountOf(of.hotkey);
  const clock = epochStateOf(chain, of.netuid);
  const { revealPeriodEpochs } = state.get("subnet", keyOf(of.netuid)).hyperparameters;
  const salted = (state.read("salted", keyOf(index, account)) ?? [])
    .filter(({ epoch }) => epoch + revealPeriodEpochs >= epochIndex(clock))
    .map(({ block, epoch }) => ({
      committedBlock: block,
      revealRound: null,
      revealFromBlock: firstBlockOfEpoch(clock, epoch + revealPeriodEpochs),
    }));
  const timelocked = state.keys("timelocked", keyOf(index, "")).flatMap((key) => state.get("timelocked", key))
    .filter(({ hotkey }) => hotkey === account)
    .map(({ block, round }) => ({ committedBlock: block, revealRound: round, revealFromBlock: null }));
  return [...salted, ...timelocked].sort((a, b) => a.committedBlock - b.committedBlock);
}

/** The first block whose calls are of this epoch, which is the present one or a later one. Null when no epoch ever runs. */
function firstBlockOfEpoch(clock: EpochState, epoch: number): number | null {
  if (clock.tempoBlocks === 0) return null;
  if (clock.formula === "legacy") return epoch * (clock.tempoBlocks + 1) - clock.netuid - 1;
  let now: EpochState = clock;
  while (epochIndex(now) < epoch) now = stateAt(now, nextEpochBlock(now) ?? now.block); // not null: the tempo is not 0
  return now.formula === "stateful" ? now.lastEpochBlock : null;
}
