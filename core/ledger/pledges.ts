/** Commitments that later entries must match: the key of a round's random sampling, and one per miner and round. */

import { sha256 } from "../sha256.ts";
import type { CommittedEntry, DrawsEntry, LogEntry } from "./entry.ts";

export interface Pledges {
  draws: { readonly round: number; readonly hash: string } | null; // of the open round; null: not stated
  drawsProven: number; // keys that matched when revealed
  committedRound: number | null; // newest round committed to; null: none read
}

/** A round that returns to its first step repeats its commitment. */
export function takeDraws(
  ledger: Pledges,
  { round, hash, hasBegun }: DrawsEntry & { hasBegun: boolean },
): string | null {
  const { draws } = ledger;
  ledger.draws = { round, hash };
  if (draws?.round === round) {
    return draws.hash === hash ? null : `the draws of round ${round} do not have the key that was committed to before`;
  }
  return hasBegun ? `the draws of round ${round} are committed to after its first step` : null;
}

export function takeKey(ledger: Pledges, { round, draws: key }: Extract<LogEntry, { type: "merged" }>): string | null {
  const { draws } = ledger;
  if (draws === null || draws.round !== round - 1) return null; // an earlier version's log, or lost lines
  if (sha256(key) !== draws.hash) {
    return `the key of the draws of round ${round - 1} is not the one that was committed to`;
  }
  ledger.drawsProven += 1;
  return null;
}

/** Once per miner and round, in the order of rounds. */
export function takeCommitments(ledger: Pledges, { round, miners }: CommittedEntry): string | null {
  const before = ledger.committedRound;
  ledger.committedRound = round;
  if (before !== null && round <= before) {
    return `commitments to round ${round} come after those to round ${before}`;
  }
  const isOnce = new Set(miners).size === miners.length;
  return isOnce ? null : `the commitments to round ${round} name a miner twice`;
}
