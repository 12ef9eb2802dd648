/**
 * A row as the chain stores it, scaled and limited in fixed point (32 fraction bits, truncated divisions), so that rows
 * compare by equality.
 */

export interface WeightsRow {
  readonly uids: readonly number[];
  readonly values: readonly number[]; // u16, none 0
}

export type StoredRow = readonly { readonly uid: number; readonly value: number }[];

export const u16Max = 0xffff;
const fractionBits = 32n;
const half = 1n << (fractionBits - 1n);
const largeThreshold = 32_768n; // above it the chain divides first, to avoid overflow

export function upscaled(values: readonly number[]): number[] {
  const top = BigInt(Math.max(0, ...values));
  if (top === 0n) return values.map(() => 0);
  const ratio = (BigInt(u16Max) << fractionBits) / top;
  return values.map((value) => {
    const scaled = top > largeThreshold
      ? BigInt(value) * ratio
      : (BigInt(value) * BigInt(u16Max) << fractionBits) / top;
    return Number((scaled + half) >> fractionBits);
  });
}

/** As in the chain's MaxWeightExceeded. */
export function isWithinMaxWeight(values: readonly number[], maxWeightsLimit: number): boolean {
  if (maxWeightsLimit >= u16Max) return true;
  const stored = upscaled(values);
  const total = BigInt(stored.reduce((sum, value) => sum + value, 0));
  if (total === 0n) return true;
  const share = (BigInt(Math.max(...stored)) << fractionBits) / total;
  return share <= (BigInt(maxWeightsLimit) << fractionBits) / BigInt(u16Max);
}

export function storedRowOf(row: WeightsRow): StoredRow {
  const values = upscaled(row.values);
  return row.uids.map((uid, i) => ({ uid, value: values[i]! })).filter(({ value }) => value > 0)
    .sort((a, b) => a.uid - b.uid);
}

export function isSameRow(a: StoredRow, b: StoredRow): boolean {
  const left = new Map(a.filter(({ value }) => value > 0).map(({ uid, value }) => [uid, value]));
  const right = b.filter(({ value }) => value > 0);
  return left.size === right.length && right.every(({ uid, value }) => left.get(uid) === value);
}
