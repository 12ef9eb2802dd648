/**
 * Scores as a row of u16 that the chain accepts, bit for bit like the official SDK (v11): clips to the maximum share,
 * scales the largest to 65,535, rounds.
 *
 * Unlike SDK v10, it never sets a uniform row if there are too few weights. A single weight on oneself has no limits.
 * If rounding leaves a share above the limit, the row is clipped slightly lower.
 */

import { isWithinMaxWeight, u16Max, type WeightsRow } from "./stored_row.ts";

export type Conformed =
  | { readonly ok: true; readonly row: WeightsRow }
  | { readonly ok: false; readonly reason: ConformRefusal; readonly detail: string };

export type ConformRefusal = "badNumber" | "duplicateUid" | "allZero" | "tooFew" | "limitTooLow";

interface ConformLimits {
  readonly ownUid: number;
  readonly minAllowedWeights: number;
  readonly maxWeightsLimit: number; // u16; 65535: no limit
}

export function conformWeights(
  scores: readonly { readonly uid: number; readonly score: number }[],
  limits: ConformLimits,
): Conformed {
  const bad = scores.find(({ score }) => !Number.isFinite(score) || score < 0);
  if (bad !== undefined) {
    return refuse("badNumber", `A score must be finite and not negative: uid ${bad.uid} has ${bad.score}`);
  }
  const seen = new Set<number>();
  const duplicate = scores.find(({ uid }) => seen.size === seen.add(uid).size);
  if (duplicate !== undefined) return refuse("duplicateUid", `A uid must have one score: ${duplicate.uid} has several`);
  const raw = scores.map(({ score }) => score);
  const total = sumOf(raw);
  if (total === 0) return refuse("allZero", "All scores are zero: there is nothing to set");
  if (!Number.isFinite(total)) return refuse("badNumber", "The sum of all scores must be finite");
  const uids = scores.map(({ uid }) => uid);
  const isSelfWeight = uids.length === 1 && uids[0] === limits.ownUid;
  const row = isSelfWeight ? roundRow(uids, raw) : rowWithin(uids, raw, limits.maxWeightsLimit);
  if (row === null) {
    const detail = `${uids.length} shares cannot all stay within ${limits.maxWeightsLimit} of ${u16Max} of their sum`;
    return refuse("limitTooLow", detail);
  }
  if (!isSelfWeight && row.uids.length < limits.minAllowedWeights) {
    const detail =
      `The subnet requires at least ${limits.minAllowedWeights} weights: only ${row.uids.length} are not zero`;
    return refuse("tooFew", detail);
  }
  return { ok: true, row };
}

/** Clips further, in steps of the limit's unit, until the chain accepts the rounded row. */
function rowWithin(uids: readonly number[], raw: readonly number[], maxWeightsLimit: number): WeightsRow | null {
  if (maxWeightsLimit >= u16Max) return roundRow(uids, raw);
  for (const stepsLower of [0, 1, 2, 4, 8, 16, 32]) {
    const row = roundRow(uids, clipToMaxWeight(raw, (maxWeightsLimit - stepsLower) / u16Max));
    if (isWithinMaxWeight(row.values, maxWeightsLimit)) return row;
  }
  return null;
}

const refuse = (reason: ConformRefusal, detail: string): Conformed => ({ ok: false, reason, detail });
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** Shares with sum 1, none above `limit`: the excess is spread. An impossible limit gives equal shares. */
export function clipToMaxWeight(weights: readonly number[], limit: number): number[] {
  const count = weights.length;
  const total = sumOf(weights);
  if (count * limit <= 1) return weights.map(() => 1 / count);
  const ascending = weights.map((weight) => weight / total).sort((a, b) => a - b);
  if (ascending[count - 1]! <= limit) return weights.map((weight) => weight / total);
  const epsilon = 1e-7; // the SDK's
  let sum = 0, kept = 0;
  const sums = ascending.map((share) => sum += share);
  for (const [i, share] of ascending.entries()) {
    if (share / ((count - i - 1) * share + sums[i]! + epsilon) < limit) kept += 1;
  }
  const keptSum = sums[kept - 1]!; // the smallest share is at most 1 / count < limit
  const cutoff = (limit * keptSum - epsilon) / (1 - limit * (count - kept)) * total;
  const clipped = weights.map((weight) => Math.min(weight, cutoff));
  const clippedTotal = sumOf(clipped);
  return clipped.map((weight) => weight / clippedTotal);
}

/** Zeros are left out. */
function roundRow(uids: readonly number[], shares: readonly number[]): WeightsRow {
  const top = Math.max(...shares);
  const values = shares.map((share) => roundHalfToEven((share / top) * u16Max));
  return {
    uids: uids.filter((_, i) => values[i] !== 0),
    values: values.filter((value) => value !== 0),
  };
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return rest < 0.5 ? floor : floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}
