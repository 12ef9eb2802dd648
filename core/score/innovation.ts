/**
 * The distance between a claimed output and a repeated one, relative to what the stage changed.
 *
 *     error = || claimed - repeated || / || repeated - lazy ||        lazy: the output of a stage that passes its input through
 *
 * A value less than a step of the wire's format away counts as equal: where a stage changes its input by less than that (which
 * whoever makes the input can bring about), an honest device rounds to the one or the other neighbour.
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
}

/** The error used when the repetition changes nothing: any difference counts as this. */
const worstError = 1e6;

export function innovation({ claimed, repeated, lazy, step }: InnovationInput): Innovation {
  const { length } = repeated;
  assert(claimed.length === length && (lazy === null || lazy.length === length), "Outputs must have one length");
  let difference = 0;
  let change = 0;
  let equal = 0;
  for (let i = 0; i < length; i++) {
    const value = repeated[i]!;
    const apart = Math.abs(claimed[i]! - value);
    if (!(apart <= step * Math.abs(value))) difference += apart ** 2;
    change += (value - (lazy?.[i] ?? 0)) ** 2;
    if (Object.is(claimed[i], value)) equal += 1;
  }
  const error = difference === 0 ? 0 : Math.min(worstError, Math.sqrt(difference / change));
  return { error: Number.isFinite(error) ? error : worstError, equalShare: length === 0 ? 1 : equal / length };
}
