/**
 * Runs a role machine in the real world: one inbox, one writer, run to completion.
 *
 * Owns: the order of events, the deadline timer, the bound of the inbox (a full one pauses the network until it has drained).
 * Whatever throws in a machine or in performing an effect is our bug: it ends the role through `onFailure`.
 */

import type { Machine } from "../../core/protocol/machine.ts";
import type { Cancel, Timers } from "../../net/timers.ts";

export interface DriverOptions<State, Event, Effect> {
  readonly machine: Machine<State, Event, Effect>;
  readonly state: State;
  /** Must not wait; results come back through `enqueue`. */
  readonly perform: (effect: Effect) => void;
  /** The event of a passed deadline; null for machines without deadlines. */
  readonly tick: Event | null;
  readonly timers: Timers;
  readonly inboxMessages: number;
  readonly onPressure: (isFull: boolean) => void;
  readonly onFailure: (error: unknown) => void;
}

export class Driver<State, Event, Effect> {
  readonly #options: DriverOptions<State, Event, Effect>;
  readonly #inbox: Event[] = [];
  #isDraining = false;
  #isClosed = false;
  #isFull = false;
  #cancelTimer: Cancel = () => {};

  constructor(options: DriverOptions<State, Event, Effect>) {
    this.#options = options;
  }

  enqueue(event: Event): void {
    if (this.#isClosed) return;
    this.#inbox.push(event);
    if (!this.#isDraining) this.#drain();
    else if (!this.#isFull && this.#inbox.length >= this.#options.inboxMessages) {
      this.#isFull = true;
      this.#options.onPressure(true);
    }
  }

  /** No event is taken any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #drain(): void {
    const { machine, state, perform, timers, onFailure } = this.#options;
    this.#isDraining = true;
    try {
      for (let event = this.#inbox.shift(); event !== undefined && !this.#isClosed; event = this.#inbox.shift()) {
        for (const effect of machine.step(state, event, timers.nowMs())) perform(effect);
      }
      this.#setTimer();
    } catch (error) {
      this.close();
      onFailure(error);
    } finally {
      this.#isDraining = false;
    }
    if (!this.#isFull) return;
    this.#isFull = false;
    this.#options.onPressure(false);
  }

  #setTimer(): void {
    const { machine, state, tick, timers } = this.#options;
    this.#cancelTimer();
    const deadlineMs = machine.nextDeadlineMs(state);
    if (tick === null || deadlineMs === null || this.#isClosed) return;
    this.#cancelTimer = timers.after(Math.max(0, deadlineMs - timers.nowMs()), () => {
      machine.assertInvariants(state);
      this.enqueue(tick);
    });
  }
}
