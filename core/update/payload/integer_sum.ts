/**
 * Sums of payloads in any order: terms are rounded to whole steps, and float64 adds whole numbers below 2^53 exactly. A
 * step is a power of two chosen per chunk by the largest term, so terms keep at least 32 bits of it.
 */

import { type Parsed, parsed, refused } from "../../fault.ts";
import type { WeightedSlice } from "./payload_codec.ts";

const mostPayloads = 2 ** 12; // most miners of a stage
const mostWeight = 2 ** 53;

/** Terms are below 2^this; a sum of `mostPayloads` is exact. */
export const termBits = 40;

export interface Shares {
  readonly factors: readonly number[]; // per payload, for its values
  readonly total: number; // of the weights; divides a sum
}

/** The total is added in order of size, so that the order of payloads does not matter. */
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
const words = new Uint32Array(scratch.buffer); // little-endian everywhere
const leastExponent = -900;

/** A power of two: `largest`, finite and not negative, is less than 2^bits steps. */
export function stepFor(largest: number, bits: number): number {
  scratch[0] = largest;
  const exponent = Math.max(leastExponent, ((words[1]! >>> 20) & 0x7ff) - 1023);
  words[0] = 0;
  words[1] = (exponent + 1 - bits + 1023) << 20;
  return scratch[0]!;
}

const nearest = 1.5 * 2 ** 52; // adding it leaves no fraction bits

/** Ties to even, below 2^51. */
export function toInteger(value: number): number {
  return value + nearest - nearest;
}
