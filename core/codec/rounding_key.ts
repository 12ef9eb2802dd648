/**
 * The key for random rounding of the gradient that a stage sends back: a hash of the stage's input wire.
 *
 * That wire differs for every microbatch, so a value is rounded differently each step; and every node that repeats the
 * task has its exact bytes, so the key need not be agreed on or sent. The wire's sender could choose the random
 * numbers, but they move a value by less than a code. Pure.
 */

/** For formats without random rounding. */
export const noKey = 0;

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** 32 bits: FNV-1a. `input`: the whole wire, including its tokens' ids. */
export function roundingKey(input: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of input) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
