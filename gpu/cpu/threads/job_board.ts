/**
 * One open job in shared memory, handed out in ranges of units.
 *
 * Each thread has the same share of every job, for its caches, and then helps with others'. Tickets count over all
 * jobs, so a late thread takes nothing of a finished job, and nobody waits for a thread without a ticket. A failed
 * board stays failed. Only the opener calls `open` and `finish`.
 */

import { type Hand, type Job, mostNumbers, operationNames, type Work } from "../jobs/job.ts";
import { operations } from "../jobs/operations.ts";

export class ThreadError extends Error {
  override name = "ThreadError";
}

const line = 16; // words of a cache line: threads change separate lines
const words = {
  serial: 0,
  ranges: line,
  done: 2 * line,
  bell: 3 * line,
  state: 4 * line,
  textBytes: 4 * line + 1,
} as const;
const firstShare = 5 * line; // each share's next ticket; its end is a line behind
const mostTextBytes = 512;
const lookMs = 0.05; // before a sleep: waking takes 10 to 100 us, the next job less
const looksPerClock = 64;
const states = { open: 0, closed: 1, failing: 2, failed: 3 } as const;

interface OpenJob {
  readonly serial: number;
  readonly ranges: number;
  readonly units: number;
  readonly grain: number;
  readonly operation: number;
  readonly numbers: readonly number[];
  work: Work | null; // made by this thread's first range
}

export class JobBoard {
  readonly memory: SharedArrayBuffer;
  readonly #threads: number;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array; // ranges, units, grain, operation, count, the job's own
  readonly #text: Uint8Array;
  #seen: OpenJob | null = null;

  constructor(threads: number, memory?: SharedArrayBuffer) {
    const headBytes = 4 * (firstShare + 2 * line * threads);
    const numbers = 5 + mostNumbers;
    this.#threads = threads;
    this.memory = memory ?? new SharedArrayBuffer(headBytes + 8 * numbers + mostTextBytes);
    this.#words = new Int32Array(this.memory, 0, headBytes / 4);
    this.#numbers = new Float64Array(this.memory, headBytes, numbers);
    this.#text = new Uint8Array(this.memory, headBytes + 8 * numbers, mostTextBytes);
  }

  /** Wakes as many threads as can help. */
  open({ operation, numbers, units }: Job, { grain }: { grain: number }): void {
    const ranges = Math.ceil(units / grain);
    this.#numbers.set([ranges, units, grain, operationNames.indexOf(operation), numbers.length, ...numbers]);
    Atomics.add(this.#words, words.serial, 1); // before any ticket: it leads to its job
    Atomics.add(this.#words, words.ranges, ranges);
    for (let share = 0; share < this.#threads; share++) {
      const count = this.#shareStart(share + 1, ranges) - this.#shareStart(share, ranges);
      Atomics.add(this.#words, firstShare + (2 * share + 1) * line, count);
    }
    this.#ring(ranges - 1);
  }

  work(hand: Hand): void {
    for (let i = 0; i < this.#threads; i++) this.#workOn((hand.index + i) % this.#threads, hand);
  }

  #workOn(share: number, hand: Hand): void {
    const next = firstShare + 2 * share * line;
    for (;;) {
      const ticket = Atomics.load(this.#words, next);
      const left = (Atomics.load(this.#words, next + line) - ticket) | 0; // tickets wrap
      if (left <= 0) return;
      const serial = Atomics.load(this.#words, words.serial);
      const job = this.#seen?.serial === serial ? this.#seen : this.#read(serial);
      // The ticket proves that its job was still open.
      if (Atomics.compareExchange(this.#words, next, ticket, (ticket + 1) | 0) !== ticket) continue;
      job.work ??= operations[operationNames[job.operation]!](hand, job.numbers);
      const from = (this.#shareStart(share + 1, job.ranges) - left) * job.grain;
      job.work(from, Math.min(job.units, from + job.grain));
      this.#tick();
    }
  }

  #shareStart(share: number, ranges: number): number {
    return Math.floor(share * ranges / this.#threads);
  }

  /** Sleeps until the open job is computed. Throws if a thread failed or the board was closed. */
  finish(): void {
    const ranges = Atomics.load(this.#words, words.ranges);
    for (;;) {
      const done = Atomics.load(this.#words, words.done);
      this.check();
      if (done === ranges) return;
      this.#sleep(words.done, done);
    }
  }

  help(hand: Hand): void {
    for (;;) {
      const bell = Atomics.load(this.#words, words.bell);
      if (Atomics.load(this.#words, words.state) !== states.open) return;
      this.work(hand);
      this.#sleep(words.bell, bell);
    }
  }

  /** The first one counts. */
  fail(reason: string): void {
    if (Atomics.compareExchange(this.#words, words.state, states.open, states.failing) !== states.open) return;
    const text = new TextEncoder().encode(reason).subarray(0, mostTextBytes);
    this.#text.set(text);
    this.#words[words.textBytes] = text.length;
    Atomics.store(this.#words, words.state, states.failed);
    this.#wakeAll();
  }

  close(): void {
    Atomics.compareExchange(this.#words, words.state, states.open, states.closed);
    this.#wakeAll();
  }

  check(): void {
    const state = Atomics.load(this.#words, words.state);
    if (state === states.open || state === states.failing) return;
    if (state === states.closed) throw new ThreadError("the threads of this stage were stopped");
    const text = new TextDecoder().decode(this.#text.slice(0, this.#words[words.textBytes]));
    throw new ThreadError(`Cannot compute as a thread of this stage failed: ${text}`);
  }

  /** Until the word has another value; may return before. */
  #sleep(at: number, value: number): void {
    const endMs = performance.now() + lookMs;
    do {
      for (let i = 0; i < looksPerClock; i++) if (Atomics.load(this.#words, at) !== value) return;
    } while (performance.now() < endMs);
    Atomics.wait(this.#words, at, value);
  }

  #read(serial: number): OpenJob {
    const [ranges, units, grain, operation, count] = this.#numbers as Iterable<number> as [
      ...[number, number, number, number, number],
    ];
    const numbers = Array.from(this.#numbers.subarray(5, 5 + count));
    this.#seen = { serial, ranges, units, grain, operation, numbers, work: null };
    return this.#seen;
  }

  #tick(): void {
    const done = (Atomics.add(this.#words, words.done, 1) + 1) | 0;
    if (done === Atomics.load(this.#words, words.ranges)) Atomics.notify(this.#words, words.done);
  }

  #ring(threads: number): void {
    Atomics.add(this.#words, words.bell, 1);
    Atomics.notify(this.#words, words.bell, threads);
  }

  #wakeAll(): void {
    this.#ring(Infinity);
    Atomics.add(this.#words, words.done, 1); // otherwise the opener may miss the bell before its sleep
    Atomics.notify(this.#words, words.done);
  }
}
