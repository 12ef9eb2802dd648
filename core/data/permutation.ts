/**
 * A keyed bijection of [0, size) that shuffles a pass over the data without an array: a balanced Feistel network over
 * the smallest even number of bits that holds `size`, with Philox as round function. Results outside are permuted again
 * (Black and Rogaway, CT-RSA 2002), in fewer than four steps on average.
 */

import { assert } from "../assert.ts";
import { type Key, philox } from "../prng.ts";

const feistelRounds = 4; // a pseudorandom permutation needs 4 (Luby and Rackoff 1988)
const sizeLimit = 2 ** 32;

export function permute(options: { key: Key; size: number; index: number }): number {
  const { key, size, index } = options;
  assert(size >= 1 && size <= sizeLimit, `'size' must be in [1, 2^32], and is ${size}`);
  assert(
    Number.isInteger(index) && index >= 0 && index < size,
    `'index' must be in [0, ${size}), and is ${index}`,
  );
  const halfBits = Math.max(1, Math.ceil(Math.log2(size) / 2));
  let value = index;
  do {
    value = feistel(value, { key, halfSize: 2 ** halfBits });
  } while (value >= size);
  return value;
}

const block = new Uint32Array(4);

function feistel(value: number, options: { key: Key; halfSize: number }): number {
  const { key, halfSize } = options;
  let left = Math.floor(value / halfSize);
  let right = value % halfSize;
  for (let round = 0; round < feistelRounds; round++) {
    philox([right, round, 0, 0], key, block);
    [left, right] = [right, (left ^ block[0]!) & (halfSize - 1)];
  }
  return left * halfSize + right;
}
