/**
 * Miners' scores: the sum of their credited work over the last rounds that have vested, minus what verdicts withhold.
 *
 * A round's work vests a few rounds later. Until then a ban takes it, and so does a forfeit: a drawn miner that leaves
 * or opens nothing cannot keep the pay (orchestrator/audit/forfeits.ts). A run's last report vests everything,
 * permanently, even if the run continues later. This is an escrow: a cheat must go unnoticed for `roundsUntilDue`
 * rounds before it earns anything.
 *
 * Owns the window, vesting, and the sum. Out of scope: how much a verdict withholds (verdict.ts). Pure; a validator
 * keeps one book, chain/duty turns its scores into weights.
 */

import type { NodeId } from "../ids.ts";
import type { Verdict } from "./verdict.ts";

export const roundsInWindow = 8;
export const roundsUntilDue = 4;
export const roundsBooked = roundsInWindow + roundsUntilDue;

export interface MinerScore {
  readonly miner: NodeId;
  readonly score: number; // units of work, times the share that the verdicts leave
}

/** A miner loses its unvested earnings from this round on. */
export interface Forfeit {
  readonly miner: NodeId;
  readonly fromRound: number;
}

export interface WorkReport {
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[]; // one a miner
  readonly forfeits: readonly Forfeit[]; // of rounds before this one
  readonly isLast: boolean; // no other follows
}

/** Each miner's work in a merged round, in units of model/task_flops.ts. */
export interface RoundReport {
  readonly round: number;
  readonly units: Map<NodeId, number>;
  readonly isLast: boolean; // it ended the run, which may have continued since
}

export interface WorkBook {
  readonly rounds: Map<number, Map<NodeId, number>>; // units by round and miner
  readonly withheld: Map<NodeId, Withheld>; // from miners whose pay is cut
  newestRound: number; // -1: none
  endedRound: number; // of the newest last report, which has no work itself; -1: none
}

interface Withheld {
  readonly round: number; // newest one with a verdict against the miner
  readonly share: number; // of its pay that the miner keeps: the smallest left by any verdict
}

export function openWorkBook(): WorkBook {
  return { rounds: new Map(), withheld: new Map(), newestRound: -1, endedRound: -1 };
}

/**
 * The first round that has not vested once the newest has been reported, and so can be forfeited with the next report.
 */
export const firstNotDue = (book: Pick<WorkBook, "newestRound" | "endedRound">): number =>
  Math.max(0, lastDueOf(book) + 1);

const lastDueOf = ({ newestRound, endedRound }: Pick<WorkBook, "newestRound" | "endedRound">): number =>
  Math.max(endedRound, newestRound - roundsUntilDue);

/** Whether any round's work has vested. */
export const isAnyDue = (book: WorkBook): boolean => [...book.rounds.keys()].some((round) => round <= lastDueOf(book));

/** Books a report, or a part of one, replacing what is booked, so a report may arrive twice. */
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

/** Books a verdict's share of a miner's pay; `score` 1 changes nothing. */
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

/**
 * Of every miner with booked work, vested or not, in order of address. A round without work, as at a run's end, takes
 * no slot.
 */
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

/** Miners whose pay is withheld entirely. */
export const unpaidOf = ({ withheld }: WorkBook): number =>
  [...withheld.values()].filter(({ share }) => share === 0).length;
