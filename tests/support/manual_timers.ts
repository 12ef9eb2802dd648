/** Time that moves only when a test says so, and dice that always fall the same way. */

import type { Cancel, Random, Timers } from "../../net/timers.ts";

export class ManualTimers implements Timers {
  #nowMs = 1_700_000_000_000;
  #due: { atMs: number; callback: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  steadyMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    const entry = { atMs: this.#nowMs + delayMs, callback };
    this.#due.push(entry);
    return () => this.#due = this.#due.filter((other) => other !== entry);
  }

  /** Runs what falls due on the way, in order of time. */
  advance(durationMs: number): void {
    const endMs = this.#nowMs + durationMs;
    for (let next = this.#next(endMs); next !== undefined; next = this.#next(endMs)) {
      this.#due = this.#due.filter((other) => other !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.callback();
    }
    this.#nowMs = endMs;
  }

  #next(endMs: number) {
    return this.#due.filter((entry) => entry.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
  }
}

/** Different bytes at every call, the same for the same seed. Not for keys. */
export function countingRandom(seed = 1): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
  return {
    bytes: (count) => Uint8Array.from({ length: count }, () => next() >>> 24),
    unit: () => next() / 2 ** 32,
  };
}
