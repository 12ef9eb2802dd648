/**
 * The distance between a claimed output and a repeated one, relative to what the stage changed.
 *
 *     error = || claimed - repeated || / || repeated - lazy ||        lazy: the output of a stage that passes its input through
 *
 *     rounding = step || repeated || / || repeated - lazy ||          step: of the wire's format, as a share of a value
 *
 * Rounding is the most that honest devices can differ by. It is below a tolerance unless a stage hardly changes its input,
 * which whoever makes the input can bring about; an error that it explains proves nothing.
 *
 * A residual stream is mostly its input, so cosine similarity accepts a stage that does nothing; this measure does not. Same
 * kernels on the same kind of adapter give 0.
 */

import { assert } from "../assert.ts";

export interface InnovationInput {
  readonly claimed: Float32Array;
  readonly repeated: Float32Array;
  readonly lazy: Float32Array | null; // null where input and output cannot be compared: zeros
  readonly step: number; // of the wire's format, as a share of a value
}

export interface Innovation {
  readonly error: number;
  readonly equalShare: number; // of values equal to the last bit
  readonly rounding: number; // the part of the error that rounding can explain
}

/** The error used when the repetition changes nothing: any difference counts as this. */
const worstError = 1e6;

export function innovation({ claimed, repeated, lazy, step }: InnovationInput): Innovation {
  const { length } = repeated;
  assert(claimed.length === length && (lazy === null || lazy.length === length), "Outputs must have one length");
  let difference = 0;
  let change = 0;
  let size = 0;
  let equal = 0;
  for (let i = 0; i < length; i++) {
    const value = repeated[i]!;
    difference += (claimed[i]! - value) ** 2;
    size += value ** 2;
    change += (value - (lazy?.[i] ?? 0)) ** 2;
    if (Object.is(claimed[i], value)) equal += 1;
  }
  const error = difference === 0 ? 0 : Math.min(worstError, Math.sqrt(difference / change));
  return {
    error: Number.isFinite(error) ? error : worstError,
    equalShare: length === 0 ? 1 : equal / length,
    rounding: size === 0 ? 0 : Math.min(worstError, step * Math.sqrt(size / change)),
  };
}
