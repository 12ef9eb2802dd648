/**
 * From what miners did to what they deserve: the sum of their credited work over the last rounds, nothing for who failed an audit
 * in them.
 *
 * Owns the window and the rule. Pure; a validator keeps one book, chain/duty turns its scores into weights.
 */

import type { NodeId } from "../ids.ts";

export const roundsInWindow = 8;

export interface MinerScore {
  readonly miner: NodeId;
  readonly score: number; // units of work, 0 for who failed
}

export interface WorkBook {
  readonly rounds: Map<number, Map<NodeId, number>>; // units by round and miner
  readonly failures: Map<NodeId, number>; // newest round in which a miner failed an audit
  newestRound: number; // -1: none
}

export function openWorkBook(): WorkBook {
  return { rounds: new Map(), failures: new Map(), newestRound: -1 };
}

/** Books a report, or a part of one; what is booked already is replaced, so a report may come twice. */
export function bookWork(
  book: WorkBook,
  { round, miners, units }: { round: number; miners: readonly NodeId[]; units: readonly number[] },
): void {
  if (round <= book.newestRound - roundsInWindow) return;
  book.newestRound = Math.max(book.newestRound, round);
  let ofRound = book.rounds.get(round);
  if (ofRound === undefined) book.rounds.set(round, ofRound = new Map());
  for (const [i, miner] of miners.entries()) ofRound.set(miner, units[i] ?? 0);
  forgetOld(book);
}

export function bookFailure(book: WorkBook, { miner, round }: { miner: NodeId; round: number }): void {
  book.failures.set(miner, Math.max(round, book.failures.get(miner) ?? 0));
}

function forgetOld(book: WorkBook): void {
  const oldest = book.newestRound - roundsInWindow;
  for (const round of book.rounds.keys()) if (round <= oldest) book.rounds.delete(round);
  for (const [miner, round] of book.failures) if (round <= oldest) book.failures.delete(miner);
}

/** Of every miner that worked in the window, in order of address. */
export function scoresOf(book: WorkBook): MinerScore[] {
  const sums = new Map<NodeId, number>();
  for (const ofRound of book.rounds.values()) {
    for (const [miner, units] of ofRound) sums.set(miner, (sums.get(miner) ?? 0) + units);
  }
  return [...sums].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([miner, units]) => ({ miner, score: book.failures.has(miner) ? 0 : units }));
}
