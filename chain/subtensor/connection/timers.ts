/** The chain client's time and randomness, injected by tests. */

export type Cancel = () => void;

export interface Timers {
  nowMs(): number; // wall clock
  after(delayMs: number, callback: () => void): Cancel;
}

/** In [0, 1). */
export type Dice = () => number;

/** The promise itself continues. */
export function withDeadline<T>(
  promise: Promise<T>,
  options: { timers: Timers; deadlineMs: number; late: () => Error },
): Promise<T> {
  const { timers, deadlineMs, late } = options;
  return new Promise((resolve, reject) => {
    const cancel = timers.after(deadlineMs, () => reject(late()));
    promise.then(resolve, reject).finally(cancel);
  });
}

export class Deadline {
  readonly passed: Promise<null>;
  readonly cancel: Cancel;
  isPassed = false;

  constructor(timers: Timers, durationMs: number) {
    const { promise, resolve } = Promise.withResolvers<null>();
    this.passed = promise;
    this.cancel = timers.after(durationMs, () => {
      this.isPassed = true;
      resolve(null);
    });
  }
}

/** Exponential and jittered. */
const firstMs = 500;
const mostMs = 60_000;
const ownMostMs = 4_000;
const rateLimitedMs = 15_000; // public endpoints count requests per minute

interface Reconnect {
  readonly failures: number;
  readonly isPublic: boolean;
  readonly isRateLimited: boolean;
  readonly dice: number;
}

/** `failures`: connections since one lasted. Returns the range's upper half. */
export function reconnectDelayMs({ failures, isPublic, isRateLimited, dice }: Reconnect): number {
  const doubled = Math.min(isPublic ? mostMs : ownMostMs, firstMs * 2 ** Math.max(0, failures - 1));
  const rangeMs = isRateLimited ? Math.max(rateLimitedMs, doubled) : doubled;
  return rangeMs * (0.5 + dice / 2);
}
