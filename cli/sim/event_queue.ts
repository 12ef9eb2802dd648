/**
 * Virtual time: what happens next, and when.
 *
 * Owns the clock of a simulation and a binary heap of what is due, ordered by time, then by the order of scheduling, so that the
 * same schedule runs the same way every time. Refuses the past. Nothing waits: time jumps to the next entry.
 */

import { assert } from "../../core/assert.ts";

interface Entry {
  readonly atMs: number;
  readonly sequence: number;
  readonly run: () => void;
}

export class EventQueue {
  readonly #heap: Entry[] = [];
  #sequence = 0;
  #nowMs = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** When the next entry is due; Infinity when there is none. */
  get nextMs(): number {
    return this.#heap[0]?.atMs ?? Infinity;
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  /** Whole milliseconds, as the clock of a real machine. */
  at(atMs: number, run: () => void): void {
    assert(atMs >= this.#nowMs, `Cannot schedule as the time must not have passed: ${atMs} is before ${this.#nowMs}`);
    this.#push({ atMs: Math.ceil(atMs), sequence: this.#sequence++, run });
  }

  /** Moves time to the next entry and runs it; false when there is none. */
  runNext(): boolean {
    const next = this.#pop();
    if (next === undefined) return false;
    this.#nowMs = next.atMs;
    next.run();
    return true;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(entry, heap[parent]!)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = entry;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);
}
