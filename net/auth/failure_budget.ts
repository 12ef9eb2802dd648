/**
 * Limits the wrong signatures checked per second and origin: each costs its sender nothing and us over a millisecond.
 *
 * Only failures drain a bucket, so thousands of honest nodes behind one address are not limited.
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
