/**
 * Detects that the program's file was replaced, as an installer does with a rename.
 *
 * Owns: when to check, when the node stops for it, and recognising a file that is still being written: it must look the
 * same twice.
 */

import { type Cancel, every, type Timers } from "../../net/timers.ts";

export interface UpgradeWatchOptions {
  readonly timers: Timers;
  /** What identifies a file; null while there is none. */
  readonly identify: () => Promise<string | null>;
  /** Whether stopping at once loses nothing. */
  readonly isIdle: () => boolean;
  readonly onReplaced: () => void;
  /** Called once: between two rounds, at once when idle, or when no round has ended for a long time. */
  readonly leave: () => void;
}

const lookMs = 30_000;
const patienceMs = 600_000; // waiting for the end of a round

export class UpgradeWatch {
  readonly #options: UpgradeWatchOptions;
  readonly #own: string; // the running file
  #last: string | null;
  #state: "watching" | "replaced" | "left" = "watching";
  #cancel: Cancel;

  /** The current file is the running one; null if there is none to watch. */
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

/** By file metadata: a replaced file has another inode, size or time. */
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
