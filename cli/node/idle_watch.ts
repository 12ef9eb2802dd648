/**
 * Notices that a miner with a stage and a link gets nothing to do. Logged after `firstMs`, then whenever the wait has
 * doubled, at least hourly.
 */

import type { Cancel, Timers } from "../../net/timers.ts";

interface IdleWatchOptions {
  readonly timers: Timers;
  readonly onIdle: (idleMs: number) => void;
  readonly onBusy: (idleMs: number) => void;
}

const firstMs = 60_000;
const longestMs = 3_600_000;

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #jobs = 0;
  #isLinked = true;
  #sinceMs: number | null = null;
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
    this.#cancel();
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
