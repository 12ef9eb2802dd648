/**
 * From what miners did to what they deserve: the sum of their credited work over the last rounds, less what the verdicts of
 * these rounds withhold.
 *
 * Owns the window and the sum; what a verdict withholds is verdict.ts's. Pure; a validator keeps one book, chain/duty turns its
 * scores into weights.
 */

import type { NodeId } from "../ids.ts";
import type { Verdict } from "./verdict.ts";

export const roundsInWindow = 8;

export interface MinerScore {
  readonly miner: NodeId;
  readonly score: number; // units of work, times the share that the verdicts leave
}

export interface WorkBook {
  readonly rounds: Map<number, Map<NodeId, number>>; // units by round and miner
  readonly withheld: Map<NodeId, Withheld>; // from miners whose pay is cut
  newestRound: number; // -1: none
}

interface Withheld {
  readonly round: number; // newest one with a verdict against the miner
  readonly share: number; // of its pay that it keeps: the least that any of them leaves
}

export function openWorkBook(): WorkBook {
  return { rounds: new Map(), withheld: new Map(), newestRound: -1 };
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

/** Books what a verdict leaves of a miner's pay; `score` 1 changes nothing. */
export function bookVerdict(
  { withheld }: WorkBook,
  { miner, round, score }: Pick<Verdict, "miner" | "round" | "score">,
): void {
  if (score >= 1) return;
  const before = withheld.get(miner);
  withheld.set(miner, { round: Math.max(round, before?.round ?? 0), share: Math.min(score, before?.share ?? 1) });
}

function forgetOld(book: WorkBook): void {
  const oldest = book.newestRound - roundsInWindow;
  for (const round of book.rounds.keys()) if (round <= oldest) book.rounds.delete(round);
  for (const [miner, { round }] of book.withheld) if (round <= oldest) book.withheld.delete(miner);
}

/** Of every miner that worked in the window, in order of address. */
export function scoresOf(book: WorkBook): MinerScore[] {
  const sums = new Map<NodeId, number>();
  for (const ofRound of book.rounds.values()) {
    for (const [miner, units] of ofRound) sums.set(miner, (sums.get(miner) ?? 0) + units);
  }
  return [...sums].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([miner, units]) => ({ miner, score: units * (book.withheld.get(miner)?.share ?? 1) }));
}
