/**
 * Notices that the program's file was replaced by another one, as an installer does with a rename.
 *
 * Owns: when it looks, when the node leaves for it, and that a file still being written is not taken for finished: it must look the same twice.
 */

import { type Cancel, every, type Timers } from "../../net/timers.ts";

export interface UpgradeWatchOptions {
  readonly timers: Timers;
  /** What tells one file from another; null while there is none. */
  readonly identify: () => Promise<string | null>;
  /** Whether nothing is lost by leaving at once. */
  readonly isIdle: () => boolean;
  readonly onReplaced: () => void;
  /** Called once: between two rounds, at once when idle, or when no round has ended for long. */
  readonly leave: () => void;
}

const lookMs = 30_000;
const patienceMs = 600_000; // for the end of a round

export class UpgradeWatch {
  readonly #options: UpgradeWatchOptions;
  readonly #own: string; // the file that runs
  #last: string | null;
  #state: "watching" | "replaced" | "left" = "watching";
  #cancel: Cancel;

  /** The file as it is now is the one that runs; null where there is none to watch. */
  static async open(options: UpgradeWatchOptions): Promise<UpgradeWatch | null> {
    const own = await options.identify();
    return own === null ? null : new UpgradeWatch(options, own);
  }

  private constructor(options: UpgradeWatchOptions, own: string) {
    this.#options = options;
    this.#own = own;
    this.#last = own;
    this.#cancel = every(options.timers, lookMs, () => void this.#look());
  }

  roundEnded(): void {
    if (this.#state === "replaced") this.#leave();
  }

  stop(): void {
    this.#state = "left";
    this.#cancel();
  }

  async #look(): Promise<void> {
    const now = await this.#options.identify();
    const isSettled = now !== null && now === this.#last;
    this.#last = now;
    if (this.#state !== "watching" || !isSettled || now === this.#own) return;
    this.#cancel();
    this.#state = "replaced";
    this.#options.onReplaced();
    if (this.#options.isIdle()) this.#leave();
    else this.#cancel = this.#options.timers.after(patienceMs, () => this.#leave());
  }

  #leave(): void {
    this.stop();
    this.#options.leave();
  }
}

/** By the system's books: another file in its place has another number, size or time. */
export function identityOf(path: string): () => Promise<string | null> {
  return async () => {
    try {
      const { ino, size, mtime } = await Deno.stat(path);
      return `${ino} ${size} ${mtime?.getTime()}`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return null;
      throw error;
    }
  };
}
