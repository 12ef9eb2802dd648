/**
 * Runs a role machine in the real world: one inbox, one writer, run to completion.
 *
 * Owns: the order of events, the machine's clock, the deadline timer, the bound of the inbox (a full one pauses the network
 * until it has drained). Events are taken in batches: each is stepped, then `commit` makes the whole batch durable, then its
 * effects are performed in order, so nothing leaves this process that a restart would not know. Whatever throws in a machine,
 * in `commit` or in performing an effect ends the role through `onFailure`.
 *
 * The machine's clock never goes back and does not follow steps of the wall clock; `startMs` lets it go on where the journal's
 * last entry was.
 */

import type { Machine } from "../../core/protocol/machine.ts";
import type { Cancel, Timers } from "../../net/timers.ts";

export interface TimedEvent<Event> {
  readonly nowMs: number;
  readonly event: Event;
}

export interface DriverOptions<State, Event, Effect> {
  readonly machine: Machine<State, Event, Effect>;
  readonly state: State;
  /** Must not wait; results come back through `enqueue`. */
  readonly perform: (effect: Effect) => void;
  /** Makes a batch durable before any of its effects is performed. */
  commit?(batch: readonly TimedEvent<Event>[]): void;
  /** The event of a passed deadline; null for machines without deadlines. */
  readonly tick: Event | null;
  readonly timers: Timers;
  readonly startMs?: number; // the machine's time is not before it
  readonly inboxMessages: number;
  readonly onPressure: (isFull: boolean) => void;
  readonly onFailure: (error: unknown) => void;
  /** Calls back when what arrives together has arrived, so that it is made durable together; absent: each event at once. */
  readonly gather?: (callback: () => void) => void;
}

const batchEvents = 64; // made durable at once

export class Driver<State, Event, Effect> {
  readonly #options: DriverOptions<State, Event, Effect>;
  readonly #inbox: Event[] = [];
  readonly #aheadMs: number; // of the steady clock
  #lastMs = -Infinity;
  #isDraining = false;
  #isGathering = false;
  #isClosed = false;
  #isFull = false;
  #cancelTimer: Cancel = () => {};

  constructor(options: DriverOptions<State, Event, Effect>) {
    this.#options = options;
    this.#aheadMs = Math.max(0, (options.startMs ?? 0) - options.timers.steadyMs());
  }

  enqueue(event: Event): void {
    if (this.#isClosed) return;
    this.#inbox.push(event);
    if (!this.#isDraining && !this.#isGathering) this.#gather();
    else if (!this.#isFull && this.#inbox.length >= this.#options.inboxMessages) {
      this.#isFull = true;
      this.#options.onPressure(true);
    }
  }

  /** Takes what has arrived so far, now. */
  flush(): void {
    this.#isGathering = false;
    if (!this.#isDraining && !this.#isClosed) this.#drain();
  }

  /** No event is taken any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #nowMs(): number {
    this.#lastMs = Math.max(this.#lastMs, this.#options.timers.steadyMs() + this.#aheadMs);
    return this.#lastMs;
  }

  #gather(): void {
    const { gather } = this.#options;
    if (gather === undefined) return this.#drain();
    this.#isGathering = true;
    gather(() => {
      if (this.#isGathering) this.flush();
    });
  }

  #drain(): void {
    this.#isDraining = true;
    try {
      while (this.#inbox.length > 0 && !this.#isClosed) this.#takeBatch(this.#inbox.splice(0, batchEvents));
      this.#setTimer();
    } catch (error) {
      this.close();
      this.#options.onFailure(error);
    } finally {
      this.#isDraining = false;
    }
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#options.onPressure(false);
  }

  #takeBatch(events: readonly Event[]): void {
    const { machine, state, perform } = this.#options;
    const effects: Effect[] = [];
    const batch: TimedEvent<Event>[] = [];
    for (const event of events) {
      const nowMs = this.#nowMs();
      for (const effect of machine.step(state, event, nowMs)) effects.push(effect);
      batch.push({ nowMs, event });
    }
    this.#options.commit?.(batch);
    for (const effect of effects) perform(effect);
  }

  #setTimer(): void {
    const { machine, state, tick, timers } = this.#options;
    this.#cancelTimer();
    const deadlineMs = machine.nextDeadlineMs(state);
    if (tick === null || deadlineMs === null || this.#isClosed) return;
    this.#cancelTimer = timers.after(Math.max(0, deadlineMs - this.#nowMs()), () => {
      machine.assertInvariants(state);
      this.enqueue(tick);
    });
  }
}
