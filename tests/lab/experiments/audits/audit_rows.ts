/**
 * Cheats laid over the draws of watched runs: whether a cheater's tasks are met as often as arithmetic says.
 *
 * A cheater chooses its tasks at random, each with the same probability. A round meets it if validators repeat a task
 * that it cheated in.
 */

import type { TaskId } from "../../../../core/ids.ts";
import { digest, unitOf } from "../../sim/digest.ts";
import { meanOf } from "../sample_moments.ts";
import type { AuditFlops } from "./audit_book.ts";
import { binomialBand, chanceToMeet, medianRounds } from "./expected_audits.ts";
import { type Place, places, type WatchedRun } from "./watch_audits.ts";

export const shares = [1, 0.3, 0.1, 0.03] as const; // of a cheater's tasks

const withinRounds = 10;

/** A count beside what arithmetic expects of it. */
export interface Counted {
  readonly of: number;
  readonly met: number;
  readonly expected: number; // chance
  readonly low: number; // band of 99 %, as counts
  readonly high: number;
  readonly isWithin: boolean;
}

export interface AuditRow {
  readonly stepsPerRound: number;
  readonly place: Place;
  readonly share: number; // of its tasks that a miner cheats in
  readonly tasks: number; // repeated of a miner in a round, on average
  readonly rounds: Counted; // of a miner
  readonly tens: Counted; // ten rounds of a miner, one after another
  readonly median: number | null; // rounds until it is met; null: in most cases not within half of the run
  readonly expectedMedian: number;
}

export interface AuditCost {
  readonly stepsPerRound: number;
  readonly validatorShare: number; // of miners' FLOPs
  readonly parts: Readonly<AuditFlops>; // the same, by what was asked
}

/** Runs of one length of rounds, with several seeds. */
export function auditRows(runs: readonly WatchedRun[]): AuditRow[] {
  return places.flatMap((place) => shares.map((share) => rowOf(runs, { place, share })));
}

function rowOf(runs: readonly WatchedRun[], { place, share }: { place: Place; share: number }): AuditRow {
  const { config } = runs[0]!;
  const miners = runs.flatMap(({ config: { seed }, miners }) =>
    miners.filter((miner) => miner.place === place).map((miner) => ({ ...miner, seed }))
  );
  const met = miners.map(({ seed, rounds }) =>
    rounds.map((tasks) => tasks.some((task) => isCheated(task, { seed, share })))
  );
  const chance = chanceToMeet(config, place, share);
  return {
    ...{ stepsPerRound: config.train.stepsPerRound, place, share },
    tasks: meanOf(miners.flatMap(({ rounds }) => rounds.map(({ length }) => length))),
    rounds: counted(met.flat(), chance),
    tens: counted(met.flatMap(inTens), 1 - (1 - chance) ** withinRounds),
    median: medianOf(met.flatMap(waits)),
    expectedMedian: medianRounds(chance),
  };
}

const isCheated = (task: TaskId, { seed, share }: { seed: number; share: number }): boolean =>
  unitOf(digest("cheated", seed, task)) < share;

function counted(samples: readonly boolean[], chance: number): Counted {
  const met = samples.filter((each) => each).length;
  const [low, high] = binomialBand(samples.length, chance);
  return { of: samples.length, met, expected: chance, low, high, isWithin: low <= met && met <= high };
}

function inTens(rounds: readonly boolean[]): boolean[] {
  const tens = Array.from({ length: Math.floor(rounds.length / withinRounds) }, (_, ten) => withinRounds * ten);
  return tens.map((from) => rounds.slice(from, from + withinRounds).includes(true));
}

/** Rounds until a cheater is met that begins in any round of the run's first half; infinite: not by its end. */
function waits(rounds: readonly boolean[]): number[] {
  const starts = Array.from({ length: Math.ceil(rounds.length / 2) }, (_, start) => start);
  return starts.map((start) => {
    const at = rounds.indexOf(true, start);
    return at === -1 ? Infinity : at - start + 1;
  });
}

function medianOf(values: readonly number[]): number | null {
  const median = values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? Infinity;
  return Number.isFinite(median) ? median : null;
}

export function auditCost(runs: readonly WatchedRun[]): AuditCost {
  const miners = runs.reduce((sum, { minerFlops }) => sum + minerFlops, 0);
  const shareOf = (part: keyof AuditFlops) => runs.reduce((sum, { auditFlops }) => sum + auditFlops[part], 0) / miners;
  const parts = {
    replays: shareOf("replays"),
    gradients: shareOf("gradients"),
    evaluations: shareOf("evaluations"),
    trials: shareOf("trials"),
  };
  const validatorShare = Object.values(parts).reduce((sum, part) => sum + part, 0);
  return { stepsPerRound: runs[0]!.config.train.stepsPerRound, validatorShare, parts };
}
