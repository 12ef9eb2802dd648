/**
 * Sums of payloads that do not depend on their order: every term is rounded to a whole number of steps, and float64
 * adds whole numbers below 2^53 without rounding, in any order, on any machine and with any number of threads.
 *
 * A step is a power of two chosen per chunk from the largest term, which does not depend on the order, so terms keep 32
 * bits or more of the largest one. Owns the limits that keep sums exact. Out of scope: reading payloads and writing
 * results.
 */

import { type Parsed, parsed, refused } from "../../fault.ts";
import type { WeightedSlice } from "./payload_codec.ts";

const mostPayloads = 2 ** 12; // as many miners as a stage may have
const mostWeight = 2 ** 53;

/** Terms are below this; a sum of `mostPayloads` of them is exact. */
export const termBits = 40;

export interface Shares {
  readonly factors: readonly number[]; // one per payload, by which its values are multiplied
  readonly total: number; // of the weights: a sum is divided by it
}

/**
 * The total is added in order of size, so that the order of payloads does not matter. Rejects: weights without a mean.
 */
export function sharesOf(slices: readonly WeightedSlice[]): Parsed<Shares> {
  const weights = slices.map(({ weight }) => weight);
  const isUsable = ({ weight, scale }: WeightedSlice) =>
    weight >= 0 && weight <= mostWeight && scale >= 0 && scale <= 1;
  const total = [...weights].sort((a, b) => a - b).reduce((sum, weight) => sum + weight, 0);
  if (slices.length > mostPayloads || total === 0 || !slices.every(isUsable)) {
    const shown = weights.slice(0, 8).join(", ");
    return refused(
      "badNumbers",
      `Cannot average ${slices.length} slices: there must be 1 to ${mostPayloads}, with positive weights and with scales ` +
        `of at most 1; the weights are ${shown}`,
    );
  }
  return parsed({ factors: slices.map(({ weight, scale }) => weight * scale), total });
}

const scratch = new Float64Array(1);
const words = new Uint32Array(scratch.buffer); // little-endian, as every machine with typed arrays is
const leastExponent = -900;

/** A power of two: `largest` is less than 2^bits steps. `largest` is finite and non-negative. */
export function stepFor(largest: number, bits: number): number {
  scratch[0] = largest;
  const exponent = Math.max(leastExponent, ((words[1]! >>> 20) & 0x7ff) - 1023);
  words[0] = 0;
  words[1] = (exponent + 1 - bits + 1023) << 20;
  return scratch[0]!;
}

const nearest = 1.5 * 2 ** 52; // adding it leaves no bits for a fraction

/** Ties to even. For magnitudes below 2^51. */
export function toInteger(value: number): number {
  return value + nearest - nearest;
}
