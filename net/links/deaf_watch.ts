/**
 * Finds out that a port has gone deaf, so that it can be opened again.
 *
 * When a process has no file descriptor left, the runtime stops accepting connections without a word and does not start again
 * when there are some. So the port calls itself when nobody else has for `everyMs`: no descriptor for the call means that there
 * is none for a caller either, and a call that is not heard means that the listening socket must be made anew. Owns: the calls
 * and the verdict. Refuses: what to do about it (injected). Invariant: one call at a time, none after `close`.
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

/** A call on one machine is heard within a millisecond, unless the machine is busy: then a few looks later. */
const hearingMs = 250;
const mostLooks = 6;

export class DeafWatch {
  readonly #options: DeafWatchOptions;
  #wasCalled = false; // since the last look
  #call: Socket | null = null;
  #cancel: Cancel = () => {};
  #isClosed = false;

  constructor(options: DeafWatchOptions) {
    this.#options = options;
    this.#lookAfter(options.everyMs);
  }

  /** The port has taken a connection, this watch's own or another one. */
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
