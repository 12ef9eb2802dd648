/**
 * The distance between a claimed output and a repeated one, relative to what the stage changed.
 *
 *     error = || claimed - repeated || / || repeated - lazy ||        lazy: the output of a stage that passes its input through
 *
 *     rounding = || what the wire's format may move || / || repeated - lazy ||
 *     beyondRounding: the error of all rows but the worst, each value's difference less what the format may move it by, and at
 *         least the error less four times `rounding`, since few values of a coarse format move
 *
 * Rounding is the most that honest devices can differ by. It is below a tolerance unless a stage hardly changes its input,
 * which the sender of the input can cause; an error that it explains proves nothing. Without the second bound, codes of
 * four bits would explain any lie of less than a code in every value. One row is left out because a row's scale moves all of
 * its values, and opened parameters, off by 1e-5, moved the gradient of seven tokens in a million by 3 to 15 %. A lie in a
 * single row concerns a single token; what exceeds the stage's change in it still counts.
 *
 * A residual stream is mostly its input, so cosine similarity accepts a stage that does nothing; this measure does not. The
 * same kernels on the same kind of adapter give 0.
 */

import { assert } from "../assert.ts";
import type { WireRounding } from "../codec/codec.ts";

export interface InnovationInput {
  readonly claimed: Float32Array; // (rows, width), as the other two
  readonly repeated: Float32Array;
  readonly lazy: Float32Array | null; // null: input and output cannot be compared; zeros
  readonly width: number;
  readonly rounding: WireRounding; // of the wire's format
}

export interface Innovation {
  readonly error: number;
  readonly equalShare: number; // of values equal to the last bit
  readonly beyondRounding: number; // the part of the error that rounding cannot explain
  readonly rounding: number; // the most that rounding explains
}

const slack = 4; // times `rounding`: the margin of an honest device before an error is proof

/** The error used when the repetition changes nothing: any difference counts as this. */
export const worstError = 1e6;

export function innovation({ claimed, repeated, lazy, width, rounding }: InnovationInput): Innovation {
  const { length } = repeated;
  assert(claimed.length === length && (lazy === null || lazy.length === length), "compared outputs have one length");
  let difference = 0, beyond = 0, movable = 0, change = 0, equal = 0; // sums of squares, and a count
  const worst = { difference: 0, beyond: 0 }; // of a row
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
