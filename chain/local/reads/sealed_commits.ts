/**
 * Timelocked commits waiting for their pulse, and whether this chain's own pulse will open them, which its beacon can
 * predict.
 */

import { decryptTimelocked } from "../../timelock/timelock.ts";
import { addressOf } from "../state/account_key.ts";
import type { OwnBeacon } from "../block/own_beacon.ts";
import type { TimelockedCommit } from "../state/records.ts";
import type { StateReader } from "../state/state.ts";

export interface SealedCommit {
  readonly key: string; // unique
  readonly hotkey: string; // its address
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

/** `foreign`: sealed, and not to this chain's beacon. `broken`: no pulse of any beacon opens these bytes. */
export function sealOf(beacon: OwnBeacon, { commit, round }: SealedCommit): "own" | "foreign" | "broken" {
  const ciphertext = Uint8Array.fromHex(commit.commit);
  const opened = decryptTimelocked({ ciphertext, signature: beacon.pulse(round) });
  if (opened.ok) return "own";
  return opened.fault.code === "unauthenticated" ? "foreign" : "broken";
}
