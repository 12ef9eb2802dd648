/**
 * Yuma consensus in the runtime's fixed-point arithmetic: its original form (`yumaVersion` 2, liquid alpha off).
 *
 * A miner's consensus weight is the stake-weighted median of its weights; anything above is clipped, so a minority of
 * stake cannot raise a miner. Incentive follows clipped weights; dividends follow bonds, a moving average of a
 * validator's stake-weighted support.
 */

import { type Fixed, fixedOfU16Share, fixedOne, normalized, ratio, sumOf, times, u16OfShare } from "./fixed.ts";
import {
  blended,
  columnMaxUpscaled,
  columnNormalized,
  mapCells,
  rowNormalized,
  rowSums,
  type SparseRow,
  weightedColumnSums,
  weightedRowSums,
} from "./sparse_rows.ts";

export interface ConsensusInput {
  readonly stakeRao: readonly bigint[]; // by uid; 0 if below the threshold
  readonly isVoting: readonly boolean[]; // active, with an earlier permit
  readonly weights: readonly SparseRow[]; // as stored, masked, any scale
  readonly bonds: readonly SparseRow[]; // u16, of the epoch before, masked
  readonly ownerUid: number | null; // always keeps a permit
  readonly maxValidators: number;
  readonly kappa: number; // majority, as a u16 share of stake
  readonly bondsPenalty: number; // u16; 65535: bonds grow by clipped weights only
  readonly bondsMovingAverage: number; // millionths that stay
}

/** By uid. */
export interface ConsensusOutput {
  readonly consensus: readonly Fixed[];
  readonly validatorTrust: readonly Fixed[];
  readonly incentive: readonly Fixed[];
  readonly dividends: readonly Fixed[];
  readonly permits: readonly boolean[];
  readonly bonds: readonly (readonly (readonly [uid: number, value: number])[])[]; // u16; empty without a permit
  readonly validatorShares: readonly Fixed[]; // of the validators' part: dividends, otherwise stake
}

export function runConsensus(input: ConsensusInput): ConsensusOutput {
  const miners = input.stakeRao.length;
  const stake = normalized(input.stakeRao);
  const activeStake = normalized(stake.map((share, uid) => input.isVoting[uid] === true ? share : 0n));
  const permits = topByStake(stake, input.maxValidators).map((isTop, uid) => isTop || uid === input.ownerUid);

  const weights = rowNormalized(input.weights);
  const consensus = weightedMedians(weights, activeStake, fixedOfU16Share(input.kappa));
  const clipped = mapCells(weights, (weight, j) => min(weight, consensus[j] ?? 0n));
  const incentive = normalized(weightedColumnSums(clipped, activeStake, miners));

  const penalty = fixedOfU16Share(input.bondsPenalty);
  const bondWeights = mapCells(
    weights,
    (weight, j) => weight - times(penalty, weight - min(weight, consensus[j] ?? 0n)),
  );
  const bonds = movedBonds(input, mapCells(bondWeights, (weight, _j, i) => times(weight, activeStake[i] ?? 0n)));
  const dividends = normalized(weightedRowSums(bonds, incentive));

  const storedBonds = columnMaxUpscaled(bonds, miners).map((row, uid) =>
    permits[uid] === true ? row.map(([j, bond]) => [j, u16OfShare(bond)] as const) : []
  );
  const hasEarnings = sumOf(incentive) + sumOf(dividends) > 0n;
  const idleShares = activeStake.some((share) => share > 0n) ? activeStake : stake;
  return {
    consensus,
    validatorTrust: rowSums(clipped),
    incentive,
    dividends,
    permits,
    bonds: storedBonds,
    validatorShares: hasEarnings ? dividends : idleShares,
  };
}

function movedBonds(input: ConsensusInput, growth: readonly SparseRow[]): SparseRow[] {
  const miners = input.stakeRao.length;
  const kept = ratio(BigInt(input.bondsMovingAverage), 1_000_000n);
  const moved = blended(
    { rows: columnNormalized(growth, miners), factor: fixedOne - kept },
    { rows: columnNormalized(input.bonds, miners), factor: kept },
  );
  return columnNormalized(moved, miners);
}

/** Zeros never count; ties go to the higher uid, as in the runtime. */
export function topByStake(stake: readonly Fixed[], count: number): boolean[] {
  const ascending = stake.map((_, uid) => uid).sort((a, b) => compare(stake[a] ?? 0n, stake[b] ?? 0n) || a - b);
  const left = new Set(ascending.slice(0, Math.max(0, stake.length - count)));
  return stake.map((share, uid) => share > 0n && !left.has(uid));
}

function weightedMedians(rows: readonly SparseRow[], stake: readonly Fixed[], majority: Fixed): Fixed[] {
  const voters = stake.flatMap((share, uid) => share > 0n ? [uid] : []);
  const voices = normalized(voters.map((uid) => stake[uid] ?? 0n));
  const minority = sumOf(voices) - majority;
  const columns = stake.map(() => voters.map(() => 0n));
  voters.forEach((uid, k) => rows[uid]?.forEach(([j, weight]) => columns[j]?.splice(k, 1, weight)));
  return columns.map((scores) => weightedMedian({ scores, voices, minority }));
}

/** The first score at which the cumulative stake exceeds the minority. */
export function weightedMedian(of: {
  readonly scores: readonly Fixed[];
  readonly voices: readonly Fixed[];
  readonly minority: Fixed;
}): Fixed {
  const ascending = of.scores.map((_, k) => k).sort((a, b) => compare(of.scores[a] ?? 0n, of.scores[b] ?? 0n));
  let voices = 0n;
  for (const k of ascending) {
    voices += of.voices[k] ?? 0n;
    if (voices > of.minority) return of.scores[k] ?? 0n;
  }
  return of.scores[ascending.at(-1) ?? 0] ?? 0n;
}

const min = (a: Fixed, b: Fixed): Fixed => a < b ? a : b;
const compare = (a: bigint, b: bigint): number => a < b ? -1 : a > b ? 1 : 0;
