/**
 * Runs a role machine in the real world: one inbox, one writer, run to completion.
 *
 * Owns: the order of events, the machine's clock, the deadline timer, the bound of the inbox (a full one pauses the network
 * until it has drained). Events are taken in batches: each is stepped, then `commit` makes the whole batch durable, then its
 * effects are performed in order, so nothing leaves this process that a restart would not know. Whatever throws in a machine,
 * in `commit` or in performing an effect ends the role through `onFailure`.
 *
 * The driver stands still while its owner says so or while a commit waits: no event is taken, no effect is performed, the
 * network is paused, and the machine's clock stands, so nobody is late for it.
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
  /** Makes a batch durable before any of its effects is performed: now, or by the time the promise resolves. */
  commit?(batch: readonly TimedEvent<Event>[]): void | Promise<void>;
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
const checkShare = 0.02; // of the time, for looking at the whole state

export class Driver<State, Event, Effect> {
  readonly #options: DriverOptions<State, Event, Effect>;
  readonly #inbox: Event[] = [];
  #aheadMs: number; // of the steady clock
  #lastMs = -Infinity;
  #stoppedMs: number | null = null; // the steady clock when the driver began to stand still
  #isHeld = false; // by the owner
  #uncommitted: object | null = null; // the commit that is waited for
  #isDraining = false;
  #isGathering = false;
  #isClosed = false;
  #isPressed = false; // what `onPressure` heard last
  #cancelTimer: Cancel = () => {};
  #nextCheckMs = -Infinity;

  constructor(options: DriverOptions<State, Event, Effect>) {
    this.#options = options;
    this.#aheadMs = Math.max(0, (options.startMs ?? 0) - options.timers.steadyMs());
  }

  enqueue(event: Event): void {
    if (this.#isClosed) return;
    this.#inbox.push(event);
    if (this.#isDraining || this.#isGathering || this.standsStill) this.#tellPressure();
    else this.#gather();
  }

  get standsStill(): boolean {
    return this.#isHeld || this.#uncommitted !== null;
  }

  /** As many events wait as may. */
  get isFull(): boolean {
    return this.#inbox.length >= this.#options.inboxMessages;
  }

  hold(): void {
    this.#isHeld = true;
    this.#stopClock();
    this.#tellPressure();
  }

  /** Ends `hold`. */
  resume(): void {
    this.#isHeld = false;
    if (this.standsStill || this.#isClosed) return;
    this.#startClock();
    if (!this.#isDraining) this.#drain();
  }

  /** Takes what has arrived so far, now. */
  flush(): void {
    this.#isGathering = false;
    if (!this.#isDraining && !this.#isClosed && !this.standsStill) this.#drain();
  }

  /** No event is taken any more. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #nowMs(): number {
    const steadyMs = this.#stoppedMs ?? this.#options.timers.steadyMs();
    this.#lastMs = Math.max(this.#lastMs, steadyMs + this.#aheadMs);
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

  #stopClock(): void {
    this.#cancelTimer();
    this.#stoppedMs ??= this.#options.timers.steadyMs();
  }

  #startClock(): void {
    if (this.#stoppedMs !== null) this.#aheadMs -= this.#options.timers.steadyMs() - this.#stoppedMs;
    this.#stoppedMs = null;
  }

  /** `first` comes before what waits in the inbox. */
  #drain(first: () => void = () => {}): void {
    this.#isDraining = true;
    this.#attempt(() => {
      first();
      while (this.#inbox.length > 0 && !this.#isClosed && !this.standsStill) {
        this.#takeBatch(this.#inbox.splice(0, batchEvents));
      }
      if (!this.standsStill) this.#setTimer();
    });
    this.#isDraining = false;
    this.#tellPressure();
  }

  #attempt(body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.close();
    this.#options.onFailure(error);
  }

  /** Full while draining: events come faster than they are taken. */
  #tellPressure(): void {
    const isBusy = this.#isDraining || this.#isGathering;
    const isPressed = this.standsStill || (isBusy && (this.#isPressed || this.isFull));
    if (isPressed === this.#isPressed) return;
    this.#isPressed = isPressed;
    this.#options.onPressure(isPressed);
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
    const performAll = () => {
      for (const effect of effects) perform(effect);
    };
    const waiting = this.#options.commit?.(batch);
    if (waiting === undefined) performAll();
    else this.#await(waiting, performAll);
  }

  #await(commit: Promise<void>, performAll: () => void): void {
    this.#uncommitted = commit;
    this.#stopClock();
    const isOver = () => this.#uncommitted !== commit || this.#isClosed;
    commit.then(() => {
      if (isOver()) return;
      this.#uncommitted = null;
      if (!this.standsStill) this.#startClock();
      this.#drain(performAll);
    }, (error) => {
      if (!isOver()) this.#fail(error);
    });
  }

  #setTimer(): void {
    const { machine, state, tick, timers } = this.#options;
    this.#cancelTimer();
    const deadlineMs = machine.nextDeadlineMs(state);
    if (tick === null || deadlineMs === null || this.#isClosed) return;
    this.#cancelTimer = timers.after(Math.max(0, deadlineMs - this.#nowMs()), () => {
      this.#check();
      this.enqueue(tick);
    });
  }

  /** Its cost grows with the swarm: a check that took long waits until its share of the time is due again. */
  #check(): void {
    const { machine, state, timers } = this.#options;
    const fromMs = timers.steadyMs();
    if (fromMs < this.#nextCheckMs) return;
    machine.assertInvariants(state);
    this.#nextCheckMs = fromMs + (timers.steadyMs() - fromMs) / checkShare;
  }
}
