/**
 * How the chain stores a row of weights: with its own scaling and limit, in its fixed-point numbers (32 fraction bits,
 * every division truncated), so that a row read back can be compared by equality.
 */

/** A row as sent. */
export interface WeightsRow {
  readonly uids: readonly number[];
  readonly values: readonly number[]; // u16 each, none 0
}

export type StoredRow = readonly { readonly uid: number; readonly value: number }[];

export const u16Max = 0xffff;
const fractionBits = 32n;
const half = 1n << (fractionBits - 1n);
const largeThreshold = 32_768n; // above this, the chain divides before it multiplies, so that the product does not overflow

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

/** The chain's MaxWeightExceeded check: the largest share of the row against the subnet's limit. */
export function isWithinMaxWeight(values: readonly number[], maxWeightsLimit: number): boolean {
  if (maxWeightsLimit >= u16Max) return true;
  const stored = upscaled(values);
  const total = BigInt(stored.reduce((sum, value) => sum + value, 0));
  if (total === 0n) return true;
  const share = (BigInt(Math.max(...stored)) << fractionBits) / total;
  return share <= (BigInt(maxWeightsLimit) << fractionBits) / BigInt(u16Max);
}

/** As it will be read back, by uid. */
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
