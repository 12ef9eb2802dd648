/**
 * One process's timers in virtual time.
 *
 * The queue forgets nothing, and a driver sets its timer anew after every event. So a cancelled entry of the queue
 * waits for the next timer that is due no earlier, and is moved there when its own time comes: an orchestrator of ten
 * thousand miners has a handful of entries instead of one an event.
 */

import type { Cancel, Timers } from "../../../net/timers.ts";
import type { EventQueue } from "./event_queue.ts";

/** An entry of the queue. */
interface Alarm {
  ringsAtMs: number;
  dueMs: number; // not before `ringsAtMs`
  callback: (() => void) | null; // null: cancelled
}

export class QueueTimers implements Timers {
  readonly #queue: EventQueue;
  #spare: Alarm | null = null; // cancelled, and still in the queue

  constructor(queue: EventQueue) {
    this.#queue = queue;
  }

  nowMs(): number {
    return this.#queue.nowMs;
  }

  steadyMs(): number {
    return this.#queue.nowMs;
  }

  after(delayMs: number, callback: () => void): Cancel {
    const dueMs = Math.ceil(this.#queue.nowMs + delayMs);
    const alarm = this.#alarmAt(dueMs);
    alarm.callback = callback;
    return () => {
      if (alarm.callback !== callback) return;
      alarm.callback = null;
      if (this.#spare === null || alarm.ringsAtMs < this.#spare.ringsAtMs) this.#spare = alarm;
    };
  }

  #alarmAt(dueMs: number): Alarm {
    const spare = this.#spare;
    if (spare !== null && spare.ringsAtMs <= dueMs) {
      this.#spare = null;
      spare.dueMs = dueMs;
      return spare;
    }
    const alarm: Alarm = { ringsAtMs: dueMs, dueMs, callback: null };
    this.#queue.at(dueMs, () => this.#ring(alarm));
    return alarm;
  }

  #ring(alarm: Alarm): void {
    const { dueMs, callback } = alarm;
    if (callback === null) {
      if (this.#spare === alarm) this.#spare = null;
    } else if (dueMs > this.#queue.nowMs) {
      alarm.ringsAtMs = dueMs;
      this.#queue.at(dueMs, () => this.#ring(alarm));
    } else {
      alarm.callback = null;
      callback();
    }
  }
}
