/**
 * The clock of a swarm in one process: virtual time, which moves only while nothing is computed and nothing else can happen.
 *
 * A run therefore does not depend on the machine's speed or load, and a pass takes the time that the world gives it (`pass`).
 * Out of scope: the order of what falls due (event_queue.ts).
 */

import { setImmediate } from "node:timers";
import type { Timers } from "../../../net/timers.ts";
import { nextTurn, turnsWaiting } from "../../../net/turns.ts";
import { EventQueue } from "./event_queue.ts";
import { QueueTimers } from "./queue_timers.ts";

export class Clock {
  readonly timers: Timers;
  readonly #queue = new EventQueue();
  #working = 0;
  #isFree: PromiseWithResolvers<void> | null = null;

  constructor() {
    this.timers = new QueueTimers(this.#queue);
  }

  get nowMs(): number {
    return this.#queue.nowMs;
  }

  /** Resolves when this much virtual time has passed. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.timers.after(ms, resolve));
  }

  /** Time stands still until the work is done. */
  async during<T>(work: () => T | Promise<T>): Promise<T> {
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
      if (this.#working === 0) this.#isFree?.resolve();
    }
  }

  /** Resolves when nothing more can happen without time. */
  async quiet(): Promise<void> {
    await idle();
    while (this.#working > 0) {
      this.#isFree ??= Promise.withResolvers();
      await this.#isFree.promise;
      this.#isFree = null;
      await idle();
    }
  }

  /** Moves time from one due entry to the next until `isDone`. Throws when nothing is due before `mostMs` from now. */
  async runUntil(isDone: () => boolean, mostMs: number): Promise<void> {
    const untilMs = this.nowMs + mostMs;
    while (true) {
      await this.quiet();
      if (isDone()) return;
      if (this.#queue.nextMs > untilMs) throw new Error(`The swarm is stuck: nothing is due within ${mostMs} ms`);
      this.#queue.runNext();
    }
  }

  /** Runs what falls due in so many milliseconds; nothing else happens in between. */
  advance(ms: number): void {
    const untilMs = Math.ceil(this.nowMs + ms);
    this.#queue.at(untilMs, () => {});
    while (this.#queue.nextMs <= untilMs) this.#queue.runNext();
  }
}

/** Resolves when everything that waits for no timer, thread or disk has run, including long work that pauses between its parts. */
async function idle(): Promise<void> {
  await immediate();
  while (turnsWaiting() > 0) {
    await nextTurn();
    await immediate();
  }
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));
