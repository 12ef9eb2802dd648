/** Commits that can still become weights, oldest first. */

import type { Address } from "../../call.ts";
import type { PendingCommit } from "../../chain.ts";
import { epochIndex, firstBlockOfEpoch } from "../../epochs/epochs.ts";
import { storageIndex } from "../../weights/salted_commit.ts";
import { accountOf, addressOf, keyOf, type TimelockedCommit } from "../state/records.ts";
import { epochStateOf, type ReadableChain } from "./readable_chain.ts";
import { decryptTimelocked } from "../../timelock/timelock.ts";
import type { OwnBeacon } from "../block/own_beacon.ts";
import type { StateReader } from "../state/state.ts";

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

export interface SealedCommit {
  readonly key: string;
  readonly hotkey: string;
  readonly round: bigint;
  readonly commit: TimelockedCommit;
}

export function sealedCommits(state: StateReader): SealedCommit[] {
  return state.keys("timelocked", "").flatMap((place) =>
    state.get("timelocked", place).map((commit) => ({
      key: `${place} ${commit.hotkey} ${commit.block} ${commit.commit}`,
      ...{ hotkey: addressOf(commit.hotkey), round: commit.round, commit },
    }))
  );
}

/** `foreign`: sealed to another beacon. `broken`: no pulse opens these bytes. */
export function sealOf(beacon: OwnBeacon, { commit, round }: SealedCommit): "own" | "foreign" | "broken" {
  const ciphertext = Uint8Array.fromHex(commit.commit);
  const opened = decryptTimelocked({ ciphertext, signature: beacon.pulse(round) });
  if (opened.ok) return "own";
  return opened.fault.code === "unauthenticated" ? "foreign" : "broken";
}
