/**
 * The clock of a swarm in one process: virtual time that moves only while nothing is computed and nothing else can happen.
 *
 * So a run does not depend on the machine's speed or load, and computing takes the time that the lab gives it (`pass`). Out of
 * scope: the order of what falls due (tests/lab/sim/event_queue.ts).
 */

import { setImmediate } from "node:timers";
import type { Timers } from "../../../net/timers.ts";
import { nextTurn, turnsWaiting } from "../../../net/turns.ts";
import { EventQueue } from "../sim/event_queue.ts";
import { QueueTimers } from "../sim/queue_timers.ts";

export class LabClock {
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

  /** Resolves when so much virtual time has passed. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.timers.after(ms, resolve));
  }

  /** Time stands still until the work is done. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#working += 1;
    try {
      return await work();
    } finally {
      this.#working -= 1;
      if (this.#working === 0) this.#isFree?.resolve();
    }
  }

  /** Moves time until `isDone`. Throws when nothing is left that could happen, or after `mostMs`. */
  async run(isDone: () => boolean, mostMs: number): Promise<void> {
    while (true) {
      await idle();
      if (isDone()) return;
      if (this.#working > 0) {
        this.#isFree = Promise.withResolvers();
        await this.#isFree.promise;
        this.#isFree = null;
        continue;
      }
      if (this.#queue.nextMs > mostMs) throw new Error(`The swarm is stuck: nothing is due before ${mostMs} ms`);
      this.#queue.runNext();
    }
  }
}

/** Resolves when everything that waits for no timer, thread or disk has run, long work that pauses for others included. */
async function idle(): Promise<void> {
  await immediate();
  while (turnsWaiting() > 0) {
    await nextTurn();
    await immediate();
  }
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));
