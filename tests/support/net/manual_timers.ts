/** Time that moves only when a test says so, and random numbers that always fall the same way. */

import type { Cancel, Random, Timers } from "../../../net/timers.ts";

interface Due {
  readonly atMs: number;
  readonly order: number; // of the calls of `after`, so that equal times keep it
  callback: (() => void) | null; // null: cancelled, dropped when it surfaces
}

/** A binary heap: thousands of nodes with a timer each cost a logarithm, not a search. */
export class ManualTimers implements Timers {
  #nowMs = 1_700_000_000_000;
  #order = 0;
  readonly #heap: Due[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  steadyMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    const due: Due = { atMs: this.#nowMs + delayMs, order: this.#order++, callback };
    this.#push(due);
    return () => due.callback = null;
  }

  /** Runs what falls due on the way, in order of time. */
  advance(durationMs: number): void {
    const endMs = this.#nowMs + durationMs;
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      const { callback } = next;
      if (callback === null) continue;
      next.callback = null;
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      callback();
    }
    this.#nowMs = endMs;
  }

  #push(due: Due): void {
    let at = this.#heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(due, this.#heap[parent]!)) break;
      this.#heap[at] = this.#heap[parent]!;
      at = parent;
    }
    this.#heap[at] = due;
  }

  #pop(): void {
    const last = this.#heap.pop()!;
    const count = this.#heap.length;
    if (count === 0) return;
    let at = 0;
    for (let child = 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && isBefore(this.#heap[child + 1]!, this.#heap[child]!)) child++;
      if (!isBefore(this.#heap[child]!, last)) break;
      this.#heap[at] = this.#heap[child]!;
      at = child;
    }
    this.#heap[at] = last;
  }
}

const isBefore = (a: Due, b: Due): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

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
