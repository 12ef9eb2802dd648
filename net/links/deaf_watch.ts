/**
 * Detects that a port no longer accepts connections, so that it can be reopened.
 *
 * When a process runs out of file descriptors, the runtime silently stops accepting connections and does not resume
 * when some are free. So the port dials itself when no one else has for `everyMs`. If there is no descriptor for that
 * dial, there is none for clients either; if the dial is not accepted, the listening socket must be replaced. Owns: the
 * dials and the verdict. Out of scope: the remedy (injected). Invariant: one dial at a time, none after `close`.
 */

import { connect, type Socket } from "node:net";
import type { Cancel, Timers } from "../timers.ts";

export interface DeafWatchOptions {
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
  #wasCalled = false; // since the last check
  #call: Socket | null = null;
  #cancel: Cancel = () => {};
  #isClosed = false;

  constructor(options: DeafWatchOptions) {
    this.#options = options;
    this.#lookAfter(options.everyMs);
  }

  /** The port has accepted a connection, this watch's own or another one. */
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
