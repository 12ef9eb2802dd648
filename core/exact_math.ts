/**
 * Elementary functions in float64 that every engine computes to the same bit, of operations that ECMAScript and IEEE
 * 754 define exactly; `Math.exp` may differ. For tables and constants that a run must agree on, not for hot loops.
 */

import { assert } from "./assert.ts";

// ln(2) and pi / 2 in parts of 32 and 30 bits: products with whole numbers below 2^21 are exact.
const ln2High = 0.6931471803691238;
const ln2Low = 1.9082149292705877e-10;
const halfPiParts = [1.570796325802803, 9.920935791635221e-10, 5.170182981794105e-19] as const;

/** Horner, highest power first. */
function polynomial(x: number, coefficients: readonly number[]): number {
  return coefficients.reduce((sum, each) => sum * x + each, 0);
}

/** 1 / n! from `most` down to 0. */
function inverseFactorials(most: number): number[] {
  const inverses = [1];
  for (let n = 1, factorial = 1; n <= most; n++) inverses.unshift(1 / (factorial *= n));
  return inverses;
}

const exponentialSeries = inverseFactorials(14); // |r| <= ln(2) / 2: the next term is below 1e-19
const sineSeries = inverseFactorials(19).map((each, i) => [0, 1, 0, -1][(19 - i) % 4]! * each);
const cosineSeries = inverseFactorials(19).map((each, i) => [1, 0, -1, 0][(19 - i) % 4]! * each);

export function wholePower(base: number, exponent: number): number {
  assert(
    Number.isInteger(exponent) && exponent >= 0,
    `A whole power must be a whole number from 0 on, and is ${exponent}`,
  );
  let result = 1;
  for (let square = base, rest = exponent; rest > 0; rest = Math.floor(rest / 2), square *= square) {
    if (rest % 2 === 1) result *= square;
  }
  return result;
}

/** For |x| <= 700. Accurate to 1e-15 of its value. */
export function exponential(x: number): number {
  assert(Math.abs(x) <= 700, `e^x is defined here for |x| <= 700, and x is ${x}`);
  const n = Math.round(x / (ln2High + ln2Low));
  const value = polynomial(x - n * ln2High - n * ln2Low, exponentialSeries);
  return n >= 0 ? value * wholePower(2, n) : value / wholePower(2, -n);
}

/** For normal x > 0. Accurate to 1e-15 of 1 + |ln x|: x = 2^n m, ln m = 2 artanh((m - 1) / (m + 1)). */
export function logarithm(x: number): number {
  assert(x > 2 ** -1022 && x < Infinity, `ln(x) needs a normal number above 0, and x is ${x}`);
  let n = 0;
  let m = x;
  for (; m > 1.5; n++) m /= 2; // exact
  for (; m < 0.75; n--) m *= 2;
  const t = (m - 1) / (m + 1);
  let sum = 0;
  for (let k = 41; k >= 1; k -= 2) sum = sum * t * t + 1 / k; // |t| <= 1/5
  return n * ln2High + (n * ln2Low + 2 * t * sum);
}

/** For |x| <= 2^20. Accurate to 1e-15. */
export function sineAndCosine(x: number): { readonly sine: number; readonly cosine: number } {
  assert(Math.abs(x) <= 2 ** 20, `Sine and cosine are defined here for |x| <= 2^20, and x is ${x}`);
  const turns = Math.round(x / halfPiParts[0]);
  const rest = halfPiParts.reduce((left, part) => left - turns * part, x);
  const [sine, cosine] = [polynomial(rest, sineSeries), polynomial(rest, cosineSeries)];
  switch (((turns % 4) + 4) % 4) {
    case 0:
      return { sine, cosine };
    case 1:
      return { sine: cosine, cosine: -sine };
    case 2:
      return { sine: -sine, cosine: -cosine };
    default:
      return { sine: -cosine, cosine: sine };
  }
}
