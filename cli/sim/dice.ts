/**
 * Draws of one simulation, each purpose from its own stream of the seed, so that more draws of one kind move no other.
 *
 * Refuses logarithms and exponentials, which machines may round differently: shapes of distributions are tables.
 */

import { keyOf, nextBelow, nextUint32, openStream, type Stream } from "../../core/prng.ts";
import { assert } from "../../core/assert.ts";

/** Deciles of a log-normal distribution around 1: how much slower than the median a miner computes. */
const slowness = [0.5, 0.62, 0.72, 0.82, 0.91, 1, 1.1, 1.25, 1.5, 1.9, 3] as const;

export class Dice {
  readonly #stream: Stream;

  constructor(seed: number, purpose: string) {
    this.#stream = openStream(keyOf(seed, "simulation", purpose));
  }

  /** In [0, 1). */
  unit(): number {
    return nextUint32(this.#stream) / 2 ** 32;
  }

  below(n: number): number {
    return nextBelow(this.#stream, n);
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
}
