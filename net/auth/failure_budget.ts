/**
 * How many wrong signatures a second are looked at, by origin: each costs its sender nothing and us more than a millisecond.
 *
 * Owns: one bucket of failures for each origin, refilled evenly. Only failures use it up, so thousands of honest nodes behind
 * one address sign as fast as they like. Refuses: checking anything. Invariant: at most `mostOrigins` buckets; the one that was
 * used least recently is forgotten first.
 */

import type { Timers } from "../timers.ts";

interface Bucket {
  failuresLeft: number;
  atMs: number;
}

const mostOrigins = 4096;

export class FailureBudget {
  readonly #perSecond: number;
  readonly #timers: Timers;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ perSecond, timers }: { perSecond: number; timers: Timers }) {
    this.#perSecond = perSecond;
    this.#timers = timers;
  }

  /** Whether one more signature from there is worth a check. */
  allows(origin: string): boolean {
    const bucket = this.#buckets.get(origin);
    if (bucket === undefined) return true;
    this.#refill(bucket);
    return bucket.failuresLeft >= 1;
  }

  failed(origin: string): void {
    const bucket = this.#buckets.get(origin) ?? { failuresLeft: this.#perSecond, atMs: this.#timers.steadyMs() };
    this.#refill(bucket);
    bucket.failuresLeft = Math.max(0, bucket.failuresLeft - 1);
    this.#buckets.delete(origin);
    this.#buckets.set(origin, bucket);
    if (this.#buckets.size <= mostOrigins) return;
    const [oldest] = this.#buckets.keys();
    if (oldest !== undefined) this.#buckets.delete(oldest);
  }

  #refill(bucket: Bucket): void {
    const nowMs = this.#timers.steadyMs();
    const gained = (nowMs - bucket.atMs) * this.#perSecond / 1000;
    bucket.failuresLeft = Math.min(this.#perSecond, bucket.failuresLeft + gained);
    bucket.atMs = nowMs;
  }
}
