/**
 * The key of the random numbers with which a stage rounds the gradient that it sends back: a hash of the wire it was computed
 * for.
 *
 * That wire differs for every microbatch, so no value is rounded in the same way for many steps; and everybody who repeats the
 * task has its very bytes, so nothing has to be agreed or sent. Whoever makes the wire could choose the dice, which move a value
 * by less than a code. Pure.
 */

/** For wires that are not rounded at random. */
export const noKey = 0;

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** 32 bits: FNV-1a. `input`: the whole wire, with its tokens' ids where they cross. */
export function roundingKey(input: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of input) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
