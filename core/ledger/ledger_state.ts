/** What a log's entries leave for later ones: the open round's steps and the books of pay. ledger.ts changes it. */

import type { NodeId } from "../ids.ts";
import { openWorkBook, type RoundReport, type WorkBook } from "../score/work_score.ts";
import { type CarriedState, minerUnits } from "./entry.ts";
import type { Pledges } from "./pledges.ts";

export interface Ledger extends Pledges {
  nextStep: number;
  isWhole: boolean; // no step of the open round is missing
  forwardUnits: readonly number[] | null; // of each stage; null: not stated yet
  open: { readonly step: number; readonly round: number; readonly units: Map<NodeId, number> }[]; // paid units only
  readonly common: WorkBook;
  readonly ofValidators: Map<NodeId, WorkBook>; // with their own verdicts; all share the rounds of `common`
  readonly qualities: Map<NodeId, number>; // shares below 1
  recovery: number; // per round
  unproven: number; // reports not recomputed, because steps are lost
}

export function openLedger(): Ledger {
  return {
    nextStep: 0,
    isWhole: true,
    forwardUnits: null,
    open: [],
    common: openWorkBook(),
    ofValidators: new Map(),
    qualities: new Map(),
    recovery: 0,
    draws: null,
    drawsProven: 0,
    committedRound: null,
    unproven: 0,
  };
}

export interface PastRounds {
  readonly reports: readonly RoundReport[]; // those that may still count, oldest first
  readonly expelled: readonly NodeId[];
}

/** For a process that has the log but no journal. */
export function pastRounds({ common: { rounds, withheld, endedRound } }: Ledger): PastRounds {
  const reports = [...rounds].toSorted(([a], [b]) => a - b)
    .map(([round, units]) => ({ round, units, isLast: round === endedRound }));
  return { reports, expelled: [...withheld].flatMap(([miner, { share }]) => share === 0 ? [miner] : []) };
}

export function carriedState(ledger: Ledger): CarriedState {
  const { nextStep, isWhole, forwardUnits, open, common, ofValidators, qualities, recovery, draws } = ledger;
  const withheldOf = (validator: NodeId | null, { withheld }: WorkBook) => ({
    validator,
    miners: [...withheld.keys()],
    rounds: [...withheld.values()].map(({ round }) => round),
    shares: [...withheld.values()].map(({ share }) => share),
  });
  return {
    ...{ nextStep, isWhole },
    ...(forwardUnits === null ? {} : { forwardUnits }),
    open: open.map(({ step, round, units }) => ({ step, round, ...minerUnits(units) })),
    newestRound: common.newestRound,
    ...(qualities.size === 0 ? {} : { qualities: { miners: [...qualities.keys()], shares: [...qualities.values()] } }),
    ...(recovery === 0 ? {} : { recovery }),
    ...(common.endedRound === -1 ? {} : { endedRound: common.endedRound }),
    ...(draws === null ? {} : { draws: { round: draws.round, hash: draws.hash } }),
    rounds: [...common.rounds].map(([round, units]) => ({ round, ...minerUnits(units) })),
    withheld: [
      withheldOf(null, common),
      ...[...ofValidators].map(([validator, book]) => withheldOf(validator, book)),
    ],
  };
}

export function ledgerOf(state: CarriedState): Ledger {
  const {
    nextStep,
    isWhole,
    open,
    newestRound,
    rounds,
    withheld,
    qualities,
    recovery = 0,
    endedRound = -1,
    forwardUnits = null,
    draws = null,
  } = state;
  const mapOf = (keys: readonly NodeId[], values: readonly number[]) =>
    new Map(keys.map((key, i) => [key, values[i] ?? 0] as const));
  const shared = new Map(rounds.map(({ round, miners, units }) => [round, mapOf(miners, units)]));
  const books = withheld.map(({ validator, miners, rounds: of, shares }) => {
    const cuts = miners.map((miner, i) => [miner, { round: of[i] ?? 0, share: shares[i] ?? 0 }] as const);
    return [validator, { rounds: shared, withheld: new Map(cuts), newestRound, endedRound }] as const;
  });
  const common = books.find(([validator]) => validator === null)?.[1];
  return {
    ...{ nextStep, isWhole, forwardUnits },
    open: open.map(({ step, round, miners, units }) => ({ step, round, units: mapOf(miners, units) })),
    common: common ?? { rounds: shared, withheld: new Map(), newestRound, endedRound },
    ofValidators: new Map(books.flatMap(([validator, book]) => validator === null ? [] : [[validator, book]])),
    qualities: mapOf(qualities?.miners ?? [], qualities?.shares ?? []),
    recovery,
    draws,
    drawsProven: 0,
    committedRound: null,
    unproven: 0,
  };
}
