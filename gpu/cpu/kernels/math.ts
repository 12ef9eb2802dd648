/**
 * Elementary functions of four f32 lanes, from additions, multiplications, divisions and bit operations only, so that
 * every machine computes the same bits. NaN stays NaN. Errors are the largest relative ones against float64
 * (tests/unit/gpu/cpu_math_test.ts).
 */

import { type Expression, f32, f32x4, i32x4, v128 } from "../wasm/expressions.ts";
import { type FunctionBuilder, type Local } from "../wasm/function_builder.ts";

type V128 = Expression<"v128">;

export const splat = (value: number): V128 => f32x4.splat(f32.of(value));

/** Highest power first. */
function polynomial(f: FunctionBuilder, x: Local<"v128">, coefficients: readonly number[]): Local<"v128"> {
  const [first, ...rest] = coefficients;
  const sum = f.let(splat(first!));
  for (const each of rest) f.set(sum, f32x4.add(f32x4.mul(sum, x), splat(each)));
  return sum;
}

const ln2High = 355 / 512; // exact times an exponent
const ln2Low = Math.LN2 - ln2High;
const factorials = [5040, 720, 120, 24, 6, 2, 1, 1];
const leastExponent = -87.33; // below it the result would be subnormal, and is 0
const mostExponent = 88.72; // above it the result would be infinite, and stays the largest

/** x = n ln 2 + r, |r| <= ln(2) / 2, Taylor's series of e^r, n into the exponent. Error below 2e-7. */
export function exponential(f: FunctionBuilder, value: V128): Local<"v128"> {
  const x = f.let(value);
  const isTiny = f.let(f32x4.isBelow(x, splat(leastExponent)));
  f.set(x, f32x4.max(f32x4.min(x, splat(mostExponent)), splat(leastExponent)));
  const n = f.let(f32x4.nearest(f32x4.mul(x, splat(Math.LOG2E))));
  f.set(x, f32x4.sub(x, f32x4.mul(n, splat(ln2High))));
  f.set(x, f32x4.sub(x, f32x4.mul(n, splat(ln2Low))));
  const series = polynomial(f, x, factorials.map((each) => 1 / each));
  // In two factors: n may be 128.
  const half = f.let(i32x4.shiftRight(i32x4.ofFloats(n), 1));
  const rest = i32x4.sub(i32x4.ofFloats(n), half);
  const power = (exponent: V128) => i32x4.shiftLeft(i32x4.add(exponent, i32x4.of(127)), 23);
  const result = f.let(f32x4.mul(f32x4.mul(series, power(half)), power(rest)));
  return f.let(v128.select(v128.zero(), result, isTiny));
}

const rootHalfBits = 0x3f3504f3; // sqrt(0.5)

/** For normal positive x = 2^n m: ln m = 2 artanh((m - 1) / (m + 1)). Error below 2e-7 of 1 + |ln x|. */
export function logarithm(f: FunctionBuilder, value: V128): Local<"v128"> {
  const x = f.let(value);
  const n = f.let(i32x4.shiftRight(i32x4.sub(x, i32x4.of(rootHalfBits)), 23));
  const m = f.let(i32x4.sub(x, i32x4.shiftLeft(n, 23)));
  const t = f.let(f32x4.div(f32x4.sub(m, splat(1)), f32x4.add(m, splat(1))));
  const square = f.let(f32x4.mul(t, t));
  const series = polynomial(f, square, [2 / 9, 2 / 7, 2 / 5, 2 / 3, 2]);
  const exponent = f.let(f32x4.ofIntegers(n));
  const low = f32x4.add(f32x4.mul(exponent, splat(ln2Low)), f32x4.mul(series, t));
  return f.let(f32x4.add(f32x4.mul(exponent, splat(ln2High)), low));
}

export function sigmoid(f: FunctionBuilder, x: V128): Local<"v128"> {
  return f.let(f32x4.div(splat(1), f32x4.add(splat(1), exponential(f, f32x4.neg(x)))));
}

/** In a fixed order; the result is in all lanes. */
export function sumOfLanes(f: FunctionBuilder, value: V128): Local<"v128"> {
  const x = f.let(value);
  f.set(x, f32x4.add(x, f32x4.shuffle(x, x, [2, 3, 0, 1])));
  return f.let(f32x4.add(x, f32x4.shuffle(x, x, [1, 0, 3, 2])));
}

export function maxOfLanes(f: FunctionBuilder, value: V128): Local<"v128"> {
  const x = f.let(value);
  f.set(x, f32x4.max(x, f32x4.shuffle(x, x, [2, 3, 0, 1])));
  return f.let(f32x4.max(x, f32x4.shuffle(x, x, [1, 0, 3, 2])));
}
