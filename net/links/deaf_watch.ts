/**
 * Detects that a port no longer accepts connections, so that it can be reopened.
 *
 * When a process runs out of file descriptors, the runtime silently stops accepting connections and does not resume
 * when some are free. So the port dials itself when no one else has for `everyMs`.
 */

import { connect, type Socket } from "node:net";
import type { Cancel, Timers } from "../timers.ts";

interface DeafWatchOptions {
  readonly at: () => { readonly host: string; readonly port: number };
  readonly everyMs: number;
  readonly timers: Timers;
  readonly onVerdict: (verdict: Verdict) => void;
}

/** `exhausted`: no descriptor for another connection. */
export type Verdict = "hears" | "deaf" | "exhausted";

/** A local dial is accepted within a millisecond; on a busy machine it may take a few checks. */
const hearingMs = 250;
const mostLooks = 6;

export class DeafWatch {
  readonly #options: DeafWatchOptions;
  #wasCalled = false;
  #call: Socket | null = null;
  #cancel: Cancel = () => {};
  #isClosed = false;

  constructor(options: DeafWatchOptions) {
    this.#options = options;
    this.#lookAfter(options.everyMs);
  }

  /** The port has accepted a connection. */
  called(): void {
    this.#wasCalled = true;
  }

  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  #lookAfter(delayMs: number): void {
    this.#cancel = this.#options.timers.after(delayMs, () => this.#look());
  }

  #look(): void {
    if (this.#wasCalled) return this.#decide("hears");
    const call = connect(this.#options.at());
    this.#call = call;
    call.on("error", (error: Error & { code?: string }) => {
      if (this.#call !== call) return;
      this.#decide(error.code === "EMFILE" || error.code === "ENFILE" ? "exhausted" : "deaf");
    });
    this.#listen(mostLooks);
  }

  #listen(looksLeft: number): void {
    this.#cancel = this.#options.timers.after(hearingMs, () => {
      if (this.#wasCalled) return this.#decide("hears");
      if (looksLeft === 1) return this.#decide("deaf");
      this.#listen(looksLeft - 1);
    });
  }

  #decide(verdict: Verdict): void {
    if (this.#isClosed) return;
    this.#end();
    this.#wasCalled = false;
    this.#options.onVerdict(verdict);
    this.#lookAfter(verdict === "hears" ? this.#options.everyMs : hearingMs);
  }

  #end(): void {
    this.#cancel();
    this.#call?.destroy();
    this.#call = null;
  }
}
