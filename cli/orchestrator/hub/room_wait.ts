/**
 * Waits until a full disk has room: a failed write is retried, at growing intervals, until it fits.
 *
 * Owns the attempts and the sentence. Out of scope: what is paused meanwhile; `onFull` is called when the first of several
 * waits begins, `onRoom` when the last one ends. Errors other than a full disk are passed on at once.
 */

import type { Cancel, Timers } from "../../../net/timers.ts";
import { isDiskFull } from "../../files/disk_room.ts";

export interface RoomWaitOptions {
  readonly timers: Timers;
  readonly onFull: (text: string) => void;
  readonly onRoom: (waitedMs: number) => void;
}

export interface RoomNeed {
  readonly what: string; // "the checkpoint of round 3"
  readonly bytes: number; // about
}

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

export class RoomWait {
  readonly #options: RoomWaitOptions;
  readonly #timers = new Set<Cancel>();
  #waiting = 0;
  #sinceMs = 0;
  #isClosed = false;

  constructor(options: RoomWaitOptions) {
    this.#options = options;
  }

  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  /** The outcome of the first attempt that does not fail on a full disk. */
  async until<T>(need: RoomNeed, attempt: () => T | Promise<T>): Promise<T> {
    let isCounted = false;
    try {
      for (let retryMs = firstRetryMs;; retryMs = Math.min(2 * retryMs, longestRetryMs)) {
        try {
          return await attempt();
        } catch (error) {
          if (!isDiskFull(error)) throw error;
          if (this.#isClosed) return await new Promise<never>(() => {});
          if (!isCounted) this.#enter(need, error);
          isCounted = true;
        }
        await this.#pass(retryMs);
      }
    } finally {
      if (isCounted) this.#leave();
    }
  }

  /** Stops all attempts; pending waits never settle. */
  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #pass(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#options.timers.after(waitMs, () => {
        this.#timers.delete(cancel);
        resolve();
      });
      this.#timers.add(cancel);
    });
  }

  #enter({ what, bytes }: RoomNeed, error: unknown): void {
    this.#waiting += 1;
    if (this.#waiting > 1) return;
    this.#sinceMs = this.#options.timers.steadyMs();
    const said = error instanceof Error ? error.message : String(error);
    this.#options.onFull(
      `The run is paused as ${what} needs about ${mebibytes(bytes)} and the disk is full: make room and it ` +
        `continues by itself (${said})`,
    );
  }

  #leave(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0 && !this.#isClosed) this.#options.onRoom(this.#options.timers.steadyMs() - this.#sinceMs);
  }
}

const mebibytes = (bytes: number): string => `${Math.max(1, Math.ceil(bytes / 2 ** 20))} MiB`;
