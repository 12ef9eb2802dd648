/**
 * Virtual time: what happens next, and when.
 *
 * Owns the clock of a simulation and a binary heap of what is due, ordered by time, then by the order of scheduling, so
 * that the same schedule runs the same way every time. Rejects: entries in the past. Nothing waits: time jumps to the
 * next entry. Keys lie in typed arrays beside the callbacks: ten thousand miners keep as many entries, and comparing
 * them must not chase pointers.
 */

import { assert } from "../../../core/assert.ts";

const firstCapacity = 1024;

export class EventQueue {
  #times = new Float64Array(firstCapacity);
  #sequences = new Float64Array(firstCapacity);
  readonly #runs: (() => void)[] = [];
  #scheduled = 0;
  #nowMs = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  get size(): number {
    return this.#runs.length;
  }

  /** When the next entry is due; Infinity when there is none. */
  get nextMs(): number {
    return this.#runs.length === 0 ? Infinity : this.#times[0]!;
  }

  after(delayMs: number, run: () => void): void {
    this.at(this.#nowMs + delayMs, run);
  }

  /** Whole milliseconds, as the clock of a real machine. */
  at(atMs: number, run: () => void): void {
    assert(atMs >= this.#nowMs, `Cannot schedule at ${atMs}: it is already ${this.#nowMs}`);
    const place = this.#runs.length;
    if (place === this.#times.length) this.#grow();
    this.#runs.push(run);
    this.#rise(place, { atMs: Math.ceil(atMs), sequence: this.#scheduled++, run });
  }

  /** Moves time to the next entry and runs it; false when there is none. */
  runNext(): boolean {
    const run = this.#runs[0];
    if (run === undefined) return false;
    this.#nowMs = this.#times[0]!;
    this.#removeFirst();
    run();
    return true;
  }

  #rise(from: number, entry: { atMs: number; sequence: number; run: () => void }): void {
    const { atMs, sequence, run } = entry;
    const times = this.#times;
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (times[parent]! <= atMs) break; // an equal time was scheduled before
      this.#move(parent, place);
      place = parent;
    }
    times[place] = atMs;
    this.#sequences[place] = sequence;
    this.#runs[place] = run;
  }

  /** The last entry sinks from the root to where it belongs. */
  #removeFirst(): void {
    const runs = this.#runs;
    const last = runs.length - 1;
    const run = runs.pop()!;
    if (last === 0) return;
    const atMs = this.#times[last]!;
    const sequence = this.#sequences[last]!;
    let place = 0;
    for (let child = 1; child < last; child = 2 * place + 1) {
      if (child + 1 < last && this.#isBefore(child + 1, this.#times[child]!, this.#sequences[child]!)) child++;
      if (!this.#isBefore(child, atMs, sequence)) break;
      this.#move(child, place);
      place = child;
    }
    this.#times[place] = atMs;
    this.#sequences[place] = sequence;
    runs[place] = run;
  }

  #isBefore(place: number, atMs: number, sequence: number): boolean {
    const own = this.#times[place]!;
    return own < atMs || (own === atMs && this.#sequences[place]! < sequence);
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!;
    this.#sequences[to] = this.#sequences[from]!;
    this.#runs[to] = this.#runs[from]!;
  }

  #grow(): void {
    const times = new Float64Array(2 * this.#times.length);
    const sequences = new Float64Array(times.length);
    times.set(this.#times);
    sequences.set(this.#sequences);
    this.#times = times;
    this.#sequences = sequences;
  }
}
