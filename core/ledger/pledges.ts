/**
 * The log's commitments that later entries must match: the key of a round's random sampling, and miners' single
 * commitment to each round.
 */

import { sha256 } from "../sha256.ts";
import type { CommittedEntry, DrawsEntry, LogEntry } from "./entry.ts";

export interface Pledges {
  draws: { readonly round: number; readonly hash: string } | null; // of the open round; null: the log does not state it
  drawsProven: number; // keys that matched their commitments when revealed
  committedRound: number | null; // newest that miners committed to; null: none in what was read
}

/** A round that returns to its first step repeats the same commitment. */
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

/** The key is revealed. */
export function takeKey(ledger: Pledges, { round, draws: key }: Extract<LogEntry, { type: "merged" }>): string | null {
  const { draws } = ledger;
  if (draws === null || draws.round !== round - 1) return null; // a log of an earlier version, or one with lost lines
  if (sha256(key) !== draws.hash) {
    return `the key of the draws of round ${round - 1} is not the one that was committed to`;
  }
  ledger.drawsProven += 1;
  return null;
}

/** A miner commits to a round once, and to rounds in their order. */
export function takeCommitments(ledger: Pledges, { round, miners }: CommittedEntry): string | null {
  const before = ledger.committedRound;
  ledger.committedRound = round;
  if (before !== null && round <= before) {
    return `commitments to round ${round} come after those to round ${before}`;
  }
  const isOnce = new Set(miners).size === miners.length;
  return isOnce ? null : `the commitments to round ${round} name a miner twice`;
}
