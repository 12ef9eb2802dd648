/**
 * The network layer's clock and random numbers, injected so that tests control both.
 *
 * Owns: the two interfaces and their real implementations. Invariant: no other file under net reads a clock or draws
 * random numbers.
 */

export type Cancel = () => void;

export interface Timers {
  /** The wall clock, for time stamps read by other machines, as in signed requests. It may jump or be set back. */
  nowMs(): number;
  /** Monotonic; only differences are meaningful. */
  steadyMs(): number;
  /** Calls back once. */
  after(delayMs: number, callback: () => void): Cancel;
}

export interface Random {
  bytes(count: number): Uint8Array;
  /** In [0, 1). */
  unit(): number;
}

export const systemTimers: Timers = {
  nowMs: () => Date.now(),
  steadyMs: () => performance.timeOrigin + performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  unit: () => Math.random(),
};

/** Calls back repeatedly; the next wait starts when the callback has returned. */
export function every(timers: Timers, periodMs: number, callback: () => void): Cancel {
  let cancel = timers.after(periodMs, fire);
  let stopped = false;
  function fire(): void {
    callback();
    if (!stopped) cancel = timers.after(periodMs, fire);
  }
  return () => {
    stopped = true;
    cancel();
  };
}
