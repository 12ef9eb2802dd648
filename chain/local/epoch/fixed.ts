/**
 * The runtime's I32F32 fixed-point numbers: a bigint that counts 2^-32 parts, rounded down as the runtime does.
 * Negative numbers are not supported. Dividing by zero gives zero, like the runtime's `safe_div`.
 */

export type Fixed = bigint;

const fractionBits = 32n;
const u16Max = 65_535n;

export const fixedOne: Fixed = 1n << fractionBits;

export const fixedOf = (integer: number): Fixed => BigInt(integer) << fractionBits;

export const times = (a: Fixed, b: Fixed): Fixed => (a * b) >> fractionBits;

/** a / b, for two integers of the same scale. */
export const ratio = (a: bigint, b: bigint): Fixed => b === 0n ? 0n : (a << fractionBits) / b;

export const sumOf = (values: readonly Fixed[]): Fixed => values.reduce((sum, value) => sum + value, 0n);

/** Divided by their sum; all zeros stay zeros. */
export function normalized(values: readonly Fixed[], sum: Fixed = sumOf(values)): Fixed[] {
  return sum === 0n ? [...values] : values.map((value) => ratio(value, sum));
}

export const fixedOfU16Share = (share: number): Fixed => ratio(BigInt(share), u16Max);

export function u16OfShare(share: Fixed): number {
  const scaled = (share * u16Max) >> fractionBits;
  return Number(scaled > u16Max ? u16Max : scaled);
}

export const partOf = (amount: bigint, share: Fixed): bigint => (amount * share) >> fractionBits;
