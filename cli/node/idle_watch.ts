/**
 * Notices that a miner with a stage and a link gets nothing to do: another stage has no miner, the orchestrator is
 * paused, or all work goes to others. It is logged after `firstMs`, then each time the wait has doubled, at least
 * hourly. Work under way is never idleness.
 */

import type { Cancel, Timers } from "../../net/timers.ts";

export interface IdleWatchOptions {
  readonly timers: Timers;
  readonly onIdle: (idleMs: number) => void;
  /** Only after a wait that was reported. */
  readonly onBusy: (idleMs: number) => void;
}

const firstMs = 60_000;
const longestMs = 3_600_000;

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #jobs = 0; // under way
  #isLinked = true; // a machine works only after its first link
  #sinceMs: number | null = null; // null: not idle
  #wasSaid = false;
  #cancel: Cancel = () => {};

  constructor(options: IdleWatchOptions) {
    this.#options = options;
  }

  during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#jobs += 1;
    this.#endWait();
    const working = work();
    const ended = () => {
      this.#jobs -= 1;
      this.#beginWait();
    };
    working.then(ended, ended);
    return working;
  }

  linked(isLinked: boolean): void {
    this.#isLinked = isLinked;
    if (isLinked) return this.#beginWait();
    this.#cancel(); // from now on the lines are those of a lost link
    this.#sinceMs = null;
    this.#wasSaid = false;
  }

  stop(): void {
    this.linked(false);
  }

  #beginWait(): void {
    if (!this.#isLinked || this.#jobs > 0 || this.#sinceMs !== null) return;
    this.#sinceMs = this.#options.timers.steadyMs();
    this.#sayIn(firstMs);
  }

  #endWait(): void {
    this.#cancel();
    if (this.#sinceMs !== null && this.#wasSaid) this.#options.onBusy(this.#idleMs());
    this.#sinceMs = null;
    this.#wasSaid = false;
  }

  #sayIn(delayMs: number): void {
    this.#cancel = this.#options.timers.after(delayMs, () => {
      this.#wasSaid = true;
      const idleMs = this.#idleMs();
      this.#options.onIdle(idleMs);
      this.#sayIn(Math.min(longestMs, Math.max(firstMs, idleMs)));
    });
  }

  #idleMs(): number {
    return this.#options.timers.steadyMs() - this.#sinceMs!;
  }
}
