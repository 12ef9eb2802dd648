/**
 * Checks an analytic gradient against central finite differences in float64.
 *
 * With a step of 1e-5 the difference quotient of a smooth function of order one is right to about 1e-10 (truncation h^2,
 * rounding 1e-16 / h), so the default tolerance of 1e-6 relative to the largest gradient has a wide margin and still sees a
 * wrong sign, factor or index.
 */

import { assert, assertEquals } from "@std/assert";
import { keyOf, nextBelow, openStream } from "../../core/prng.ts";

export interface GradientCase {
  readonly name: string;
  readonly at: Float64Array; // perturbed in place and restored
  readonly gradient: Float64Array; // claimed dL/d(at)
  readonly loss: () => number;
  readonly samples?: number; // entries checked; all of them by default
  readonly tolerance?: number; // of the largest gradient entry
}

const step = 1e-5;

export function checkGradient({ name, at, gradient, loss, samples, tolerance = 1e-6 }: GradientCase): void {
  assertEquals(gradient.length, at.length, `${name}: gradient length`);
  const stream = openStream(keyOf(1, "finite difference", name));
  const indices = samples === undefined || samples >= at.length
    ? Array.from(at.keys())
    : Array.from({ length: samples }, () => nextBelow(stream, at.length));
  const largest = gradient.reduce((most, g) => Math.max(most, Math.abs(g)), 0);
  assert(largest > 0, `${name}: the gradient is zero everywhere, the check would mean nothing`);
  for (const i of indices) {
    const held = at[i]!;
    at[i] = held + step;
    const above = loss();
    at[i] = held - step;
    const below = loss();
    at[i] = held;
    const slope = (above - below) / (2 * step);
    const difference = Math.abs(slope - gradient[i]!);
    assert(
      difference <= tolerance * largest,
      `${name}[${i}]: gradient ${gradient[i]} against finite difference ${slope} (largest ${largest})`,
    );
  }
}

/** Values in (-scale, scale), the same for the same label. */
export function noise(label: string, length: number, scale = 1): Float64Array {
  const stream = openStream(keyOf(1, "noise", label));
  return Float64Array.from({ length }, () => (nextBelow(stream, 2 ** 24) / 2 ** 23 - 1) * scale);
}

/** Turns an array-valued function into a loss whose gradient is `direction`. */
export function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}
