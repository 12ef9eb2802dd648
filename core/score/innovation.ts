/**
 * The distance between a claimed output and a repeated one, relative to what the stage changed. Cosine similarity would
 * accept a stage that does nothing, since a residual stream is mostly its input.
 *
 *     error = || claimed - repeated || / || repeated - lazy ||        lazy: the output of a stage that does nothing
 *     rounding = || what the wire's format may move || / || repeated - lazy ||
 *     beyondRounding: the error of all rows but the worst, each difference less what the format may move the value,
 *         and at least the error less four times `rounding`, since few values of a coarse format move
 *
 * Honest devices differ by `rounding` at most; an error that it explains proves nothing. The second bound stops
 * four-bit codes from explaining every lie of less than a code. The worst row is left out, because a row's scale moves
 * all its values: parameters off by 1e-5 moved seven tokens' gradients in a million by 3 to 15 %. What exceeds the
 * stage's change in that row counts.
 */

import { assert } from "../assert.ts";
import type { WireRounding } from "../codec/codec.ts";

interface InnovationInput {
  readonly claimed: Float32Array; // all three (rows, width)
  readonly repeated: Float32Array;
  readonly lazy: Float32Array | null; // null: zeros
  readonly width: number;
  readonly rounding: WireRounding; // of the wire's format
}

export interface Innovation {
  readonly error: number;
  readonly equalShare: number; // of values equal to the last bit
  readonly beyondRounding: number; // the part that rounding cannot explain
  readonly rounding: number;
}

const slack = 4; // times `rounding`: an honest device's margin

/** If the repetition changes nothing, any difference counts as this. */
export const worstError = 1e6;

export function innovation({ claimed, repeated, lazy, width, rounding }: InnovationInput): Innovation {
  const { length } = repeated;
  assert(claimed.length === length && (lazy === null || lazy.length === length), "compared outputs have one length");
  let difference = 0, beyond = 0, movable = 0, change = 0, equal = 0; // sums of squares, and a count
  const worst = { difference: 0, beyond: 0 };
  for (let row = 0; row < length; row += width) {
    let largest = 0, ofRow = 0, beyondOfRow = 0, changeOfRow = 0;
    for (let i = row; i < row + width; i++) largest = Math.max(largest, Math.abs(repeated[i]!));
    for (let i = row; i < row + width; i++) {
      const value = repeated[i]!;
      const moved = Math.abs(claimed[i]! - value);
      const allowed = rounding.ofValue * Math.abs(value) + rounding.ofRow * largest;
      ofRow += moved ** 2;
      beyondOfRow += Math.max(0, moved - allowed) ** 2;
      movable += allowed ** 2;
      changeOfRow += (value - (lazy?.[i] ?? 0)) ** 2;
      if (Object.is(claimed[i], value)) equal += 1;
    }
    difference += ofRow;
    beyond += beyondOfRow;
    change += changeOfRow;
    worst.difference = Math.max(worst.difference, Math.min(ofRow, changeOfRow));
    worst.beyond = Math.max(worst.beyond, Math.min(beyondOfRow, changeOfRow));
  }
  const usual = rounding.valuesHit * movable;
  return {
    error: share(difference, change),
    equalShare: length === 0 ? 1 : equal / length,
    beyondRounding: share(
      Math.max(0, beyond - worst.beyond, difference - worst.difference - slack ** 2 * usual),
      change,
    ),
    rounding: share(usual, change),
  };
}

function share(squares: number, ofChange: number): number {
  if (squares === 0) return 0;
  const error = Math.min(worstError, Math.sqrt(squares / ofChange));
  return Number.isFinite(error) ? error : worstError;
}
