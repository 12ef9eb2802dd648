/** The runtime's I32F32 numbers, rounded down. Never negative; dividing by zero gives zero, as in `safe_div`. */

export type Fixed = bigint;

const fractionBits = 32n;
const u16Max = 65_535n;

export const fixedOne: Fixed = 1n << fractionBits;

export const fixedOf = (integer: number): Fixed => BigInt(integer) << fractionBits;

export const times = (a: Fixed, b: Fixed): Fixed => (a * b) >> fractionBits;

/** Both have the same scale. */
export const ratio = (a: bigint, b: bigint): Fixed => b === 0n ? 0n : (a << fractionBits) / b;

export const sumOf = (values: readonly Fixed[]): Fixed => values.reduce((sum, value) => sum + value, 0n);

/** All zeros stay zeros. */
export function normalized(values: readonly Fixed[], sum: Fixed = sumOf(values)): Fixed[] {
  return sum === 0n ? [...values] : values.map((value) => ratio(value, sum));
}

export const fixedOfU16Share = (share: number): Fixed => ratio(BigInt(share), u16Max);

export function u16OfShare(share: Fixed): number {
  const scaled = (share * u16Max) >> fractionBits;
  return Number(scaled > u16Max ? u16Max : scaled);
}

export const partOf = (amount: bigint, share: Fixed): bigint => (amount * share) >> fractionBits;
