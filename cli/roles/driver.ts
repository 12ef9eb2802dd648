/**
 * Runs a role machine in the real world: one inbox, one writer, run to completion.
 *
 * Events are stepped in batches; `commit` makes a batch durable before its effects are performed, so nothing leaves
 * this process that a restart would not know. Meanwhile the next ones are stepped, up to a bound; then the network is
 * paused. An exception in a machine, in `commit` or in an effect ends the role through `onFailure`.
 *
 * While the owner holds the driver, no event is taken and the machine's clock stops, so the pause makes no node late.
 * That clock never goes back and does not follow steps of the wall clock; `startMs` lets it continue from the journal.
 * When a deadline was slept through (a paused machine, Ctrl-Z, a full swap) it goes on from a second before that:
 * answers that came in time are read only now. That happens once in ten seconds, so a process that is always late still
 * ends its waits.
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
  /** Whether what is under way fills the memory that it may take. */
  readonly isBehind?: () => boolean;
  /** The event of a passed deadline; null for machines without deadlines. */
  readonly tick: Event | null;
  readonly timers: Timers;
  readonly startMs?: number; // the machine's time is not before it
  readonly inboxMessages: number;
  readonly onPressure: (isFull: boolean) => void;
  readonly onFailure: (error: unknown) => void;
  readonly gather?: (callback: () => void) => void;
}

interface BatchUnderWay<Effect> {
  readonly effects: readonly Effect[];
  readonly events: number;
  isDurable: boolean;
}

const batchEvents = 64; // made durable at once
const eventsUnderWay = 1024; // a tenth of a second of a busy orchestrator's, or its slow disk's last sync
const stallMs = 250; // a deadline that is noticed so much later was slept through
const readingMs = 1_000; // to read what has arrived meanwhile
const forgiveMs = 10_000; // by the machine's clock, from one such deadline to the next
const checkShare = 0.02; // of the time, for checking the whole state

export class Driver<State, Event, Effect> {
  readonly #options: DriverOptions<State, Event, Effect>;
  readonly #inbox: Event[] = [];
  #aheadMs: number;
  #lastMs = -Infinity;
  #dueMs: number | null = null; // what the timer waits for, by the machine's clock
  #forgivenMs = -Infinity; // the last that was put off
  #stoppedMs: number | null = null;
  #isHeld = false;
  readonly #underWay: BatchUnderWay<Effect>[] = [];
  #eventsUnderWay = 0;
  #onSettled: (() => void)[] = []; // not empty: no event is taken
  #isDraining = false;
  #isGathering = false;
  #isClosed = false;
  #isPressed = false;
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
    return this.#isHeld;
  }

  /** Every stepped event is durable and its effects are performed. */
  get isSettled(): boolean {
    return this.#underWay.length === 0;
  }

  get isFull(): boolean {
    return this.#inbox.length >= this.#options.inboxMessages;
  }

  hold(): void {
    this.#isHeld = true;
    this.#stopClock();
    this.#tellPressure();
    this.#tellSettled();
  }

  resume(): void {
    this.#isHeld = false;
    if (this.#isClosed) return;
    this.#startClock();
    if (!this.#isDraining) this.#drain();
  }

  flush(): void {
    this.#isGathering = false;
    if (!this.#isDraining && !this.#isClosed && !this.standsStill) this.#drain();
  }

  /** Calls back at once while the driver is held: what is under way is then lost as in a kill. */
  settle(callback: () => void): void {
    this.#onSettled.push(callback);
    if (!this.#isDraining) this.#tellSettled();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #nowMs(): number {
    const steadyMs = this.#stoppedMs ?? this.#options.timers.steadyMs();
    this.#leaveOutStall(steadyMs);
    this.#lastMs = Math.max(this.#lastMs, steadyMs + this.#aheadMs);
    return this.#lastMs;
  }

  #leaveOutStall(steadyMs: number): void {
    const dueMs = this.#dueMs;
    if (dueMs === null || dueMs < this.#forgivenMs + forgiveMs || steadyMs + this.#aheadMs <= dueMs + stallMs) return;
    this.#forgivenMs = dueMs;
    this.#aheadMs = dueMs - readingMs - steadyMs;
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

  get #mayTake(): boolean {
    return !this.#isClosed && !this.standsStill && !this.#isBehind && this.#onSettled.length === 0;
  }

  get #isBehind(): boolean {
    return this.#eventsUnderWay >= eventsUnderWay || (this.#underWay.length > 0 && this.#options.isBehind?.() === true);
  }

  #drain(): void {
    this.#isDraining = true;
    this.#attempt(() => {
      this.#performDurable();
      while (this.#inbox.length > 0 && this.#mayTake) this.#takeBatch(this.#inbox.splice(0, batchEvents));
      if (this.#mayTake) this.#setTimer();
    });
    this.#isDraining = false;
    this.#tellPressure();
    this.#tellSettled();
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
    const isPressed = this.standsStill || this.#isBehind || (isBusy && (this.#isPressed || this.isFull));
    if (isPressed === this.#isPressed) return;
    this.#isPressed = isPressed;
    this.#options.onPressure(isPressed);
  }

  #takeBatch(events: readonly Event[]): void {
    const { machine, state } = this.#options;
    const effects: Effect[] = [];
    const batch: TimedEvent<Event>[] = [];
    for (const event of events) {
      const nowMs = this.#nowMs();
      for (const effect of machine.step(state, event, nowMs)) effects.push(effect);
      batch.push({ nowMs, event });
    }
    const waiting = this.#options.commit?.(batch);
    const underWay = { effects, events: batch.length, isDurable: waiting === undefined };
    this.#underWay.push(underWay);
    this.#eventsUnderWay += batch.length;
    if (waiting === undefined) this.#performDurable();
    else this.#await(waiting, underWay);
  }

  #await(commit: Promise<void>, underWay: BatchUnderWay<Effect>): void {
    commit.then(() => {
      underWay.isDurable = true;
      if (this.#underWay[0] === underWay && !this.standsStill && !this.#isClosed) this.#drain();
    }, (error) => {
      if (!this.#isClosed) this.#fail(error);
    });
  }

  /** A batch whose performing closes or holds the driver is performed to its end. */
  #performDurable(): void {
    while (this.#underWay[0]?.isDurable === true && !this.standsStill && !this.#isClosed) {
      const { effects, events } = this.#underWay[0];
      for (const effect of effects) this.#options.perform(effect);
      this.#underWay.shift();
      this.#eventsUnderWay -= events;
    }
  }

  #tellSettled(): void {
    if (!this.isSettled && !this.standsStill && !this.#isClosed) return;
    for (const callback of this.#onSettled.splice(0)) callback();
  }

  #setTimer(): void {
    const { machine, state, tick, timers } = this.#options;
    this.#cancelTimer();
    const deadlineMs = machine.nextDeadlineMs(state);
    this.#dueMs = deadlineMs;
    if (tick === null || deadlineMs === null || this.#isClosed) return;
    this.#cancelTimer = timers.after(Math.max(0, deadlineMs - this.#nowMs()), () => {
      this.#check();
      this.enqueue(tick);
    });
  }

  /** Its cost grows with the swarm: after a long check the next one waits longer. */
  #check(): void {
    const { machine, state, timers } = this.#options;
    const fromMs = timers.steadyMs();
    if (fromMs < this.#nextCheckMs) return;
    machine.assertInvariants(state);
    this.#nextCheckMs = fromMs + (timers.steadyMs() - fromMs) / checkShare;
  }
}
