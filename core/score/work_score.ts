/**
 * Scores: a miner's credited work in the last vested rounds, less what verdicts withhold. chain/duty makes weights of
 * them.
 *
 * Work vests a few rounds later, so a cheat must go unnoticed for `roundsUntilDue` rounds. Until then a ban takes it,
 * or the forfeit of a drawn miner that leaves or opens nothing (orchestrator/audit/forfeits.ts). A run's last report
 * vests everything, for good.
 */

import type { NodeId } from "../ids.ts";
import type { Verdict } from "./verdict.ts";

export const roundsInWindow = 8;
export const roundsUntilDue = 4;
export const roundsBooked = roundsInWindow + roundsUntilDue;

export interface MinerScore {
  readonly miner: NodeId;
  readonly score: number; // units, times the share that verdicts leave
}

/** Unvested earnings from this round on are lost. */
export interface Forfeit {
  readonly miner: NodeId;
  readonly fromRound: number;
}

interface WorkReport {
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
  readonly forfeits: readonly Forfeit[];
  readonly isLast: boolean; // no round follows
}

/** In units of model/task_flops.ts. */
export interface RoundReport {
  readonly round: number;
  readonly units: Map<NodeId, number>;
  readonly isLast: boolean; // it ended the run, which may have continued
}

export interface WorkBook {
  readonly rounds: Map<number, Map<NodeId, number>>;
  readonly withheld: Map<NodeId, Withheld>;
  newestRound: number; // -1: none
  endedRound: number; // of the newest last report; -1: none
}

interface Withheld {
  readonly round: number; // newest with a verdict against the miner
  readonly share: number; // smallest that a verdict leaves
}

export function openWorkBook(): WorkBook {
  return { rounds: new Map(), withheld: new Map(), newestRound: -1, endedRound: -1 };
}

/** The first round that the next report can still forfeit. */
export const firstNotDue = (book: Pick<WorkBook, "newestRound" | "endedRound">): number =>
  Math.max(0, lastDueOf(book) + 1);

const lastDueOf = ({ newestRound, endedRound }: Pick<WorkBook, "newestRound" | "endedRound">): number =>
  Math.max(endedRound, newestRound - roundsUntilDue);

export const isAnyDue = (book: WorkBook): boolean => [...book.rounds.keys()].some((round) => round <= lastDueOf(book));

/** Replaces what is booked, so a report may arrive twice, or in parts. */
export function bookWork(book: WorkBook, { round, miners, units, forfeits, isLast }: WorkReport): void {
  if (round <= book.newestRound - roundsBooked) return;
  const first = firstNotDue(book);
  if (isLast) book.endedRound = Math.max(book.endedRound, round);
  book.newestRound = Math.max(book.newestRound, round);
  let ofRound = book.rounds.get(round);
  if (ofRound === undefined) book.rounds.set(round, ofRound = new Map());
  for (const [i, miner] of miners.entries()) ofRound.set(miner, units[i] ?? 0);
  for (const { miner, fromRound } of forfeits) {
    for (const [booked, units] of book.rounds) {
      if (booked >= Math.max(fromRound, first) && booked < round && units.has(miner)) units.set(miner, 0);
    }
  }
  forgetOld(book);
}

export function bookVerdict(
  { withheld }: WorkBook,
  { miner, round, score }: Pick<Verdict, "miner" | "round" | "score">,
): void {
  if (score >= 1) return;
  const before = withheld.get(miner);
  withheld.set(miner, { round: Math.max(round, before?.round ?? 0), share: Math.min(score, before?.share ?? 1) });
}

function forgetOld(book: WorkBook): void {
  const oldest = book.newestRound - roundsBooked;
  for (const round of book.rounds.keys()) if (round <= oldest) book.rounds.delete(round);
  for (const [miner, { round }] of book.withheld) if (round <= oldest) book.withheld.delete(miner);
}

/** Includes miners without vested work, in order of address. A round without work takes no slot. */
export function scoresOf(book: WorkBook): MinerScore[] {
  const { rounds, withheld } = book;
  const lastDue = lastDueOf(book);
  const due = [...rounds].filter(([round, units]) => round <= lastDue && units.size > 0).map(([round]) => round);
  const oldest = due.sort((a, b) => b - a)[roundsInWindow - 1] ?? 0;
  const sums = new Map<NodeId, number>();
  for (const [round, ofRound] of rounds) {
    const isDue = round <= lastDue && round >= oldest;
    for (const [miner, units] of ofRound) sums.set(miner, (sums.get(miner) ?? 0) + (isDue ? units : 0));
  }
  return [...sums].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
    .map(([miner, units]) => ({ miner, score: units * (withheld.get(miner)?.share ?? 1) }));
}

export const unpaidOf = ({ withheld }: WorkBook): number =>
  [...withheld.values()].filter(({ share }) => share === 0).length;
