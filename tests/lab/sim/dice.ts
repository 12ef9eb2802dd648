/**
 * Draws of one simulation, each purpose from its own stream of the seed, so that more draws of one kind do not affect others.
 *
 * A generator with a state (sfc32 of Chris Doty-Humphrey's PractRand) instead of the counter-based one of core: a simulation
 * draws twice per message, always in order. It uses no logarithms or exponentials, which machines may round differently: shapes
 * of distributions are tables.
 */

import { assert } from "../../../core/assert.ts";
import { keyOf } from "../../../core/prng.ts";

/** Deciles of a log-normal distribution around 1: how much slower than the median a miner computes. */
const slowness = [0.5, 0.62, 0.72, 0.82, 0.91, 1, 1.1, 1.25, 1.5, 1.9, 3] as const;

export class Dice {
  #a: number;
  #b: number;
  #c = 0x9e3779b9 | 0;
  #counter = 1;

  constructor(seed: number, purpose: string) {
    const key = keyOf(seed, "simulation", purpose);
    this.#a = key[0] | 0;
    this.#b = key[1] | 0;
    for (let round = 0; round < 12; round++) this.#next(); // until every bit of the key has reached every word
  }

  /** In [0, 1). */
  unit(): number {
    return this.#next() / 2 ** 32;
  }

  below(n: number): number {
    assert(n >= 1, `'n' is ${n}, and must be at least 1`);
    return Math.floor(this.unit() * n);
  }

  /** Whole, both ends included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  chance(share: number): boolean {
    return this.unit() < share;
  }

  pick<T>(among: readonly T[]): T {
    const found = among[this.below(among.length)];
    assert(found !== undefined, "Cannot pick from nothing");
    return found;
  }

  /** A miner's time for a task as a multiple of the median miner's. */
  slowness(): number {
    return this.pick(slowness);
  }

  #next(): number {
    const word = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + word) | 0;
    return word >>> 0;
  }
}
