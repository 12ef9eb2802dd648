/**
 * The network layer's clock and random numbers, injected so that tests control both: no other file under net reads a
 * clock or draws random numbers.
 */

export type Cancel = () => void;

export interface Timers {
  /** The wall clock, for time stamps read by other machines, as in signed requests. It may jump or be set back. */
  nowMs(): number;
  /** Monotonic; only differences are meaningful. */
  steadyMs(): number;
  after(delayMs: number, callback: () => void): Cancel;
}

export interface Random {
  bytes(count: number): Uint8Array;
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

/** The next wait starts when the callback has returned. */
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
