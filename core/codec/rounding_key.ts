/**
 * The key for random rounding of a stage's gradient: a hash of the stage's input wire.
 *
 * A node that repeats the task has that wire, so the key need not be sent. The wire's sender could choose the random
 * numbers, but they move a value by less than a code.
 */

/** For formats without random rounding. */
export const noKey = 0;

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** FNV-1a, 32 bits. `input`: the whole wire, ids included. */
export function roundingKey(input: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of input) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
