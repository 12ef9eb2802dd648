/** Commits of a hotkey that can still become weights, oldest first: salted and timelocked ones. */

import type { Address } from "../../call.ts";
import type { PendingCommit } from "../../chain.ts";
import { firstBlockOfEpoch } from "../../epochs/epoch_start.ts";
import { epochIndex } from "../../epochs/epochs.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { accountOf } from "../state/account_key.ts";
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
