/**
 * Counts refused connections by fault code, so that a refusal costs the run no more than a counter.
 *
 * Reports the first refusal, then at most once per `refusalReportMs` while more arrive.
 */

import type { FaultCode } from "../../core/fault.ts";
import type { Cancel, Timers } from "../timers.ts";

interface RefusalsOptions {
  readonly timers: Timers;
  readonly reportMs: number;
  readonly onReport: (text: string, counts: RefusalCounts) => void;
}

export interface RefusalCounts {
  readonly total: number;
  readonly byCode: Readonly<Partial<Record<FaultCode, number>>>;
}

const reasonTexts: Readonly<Partial<Record<FaultCode, string>>> = {
  malformedFrame: "with unreadable bytes",
  malformedMessage: "with an unreadable hello",
  limitExceeded: "over a limit on connections",
  versionMismatch: "with another protocol version",
  unauthenticated: "that did not authenticate",
  notAdmitted: "that this run does not admit",
  staleResult: "that took too long or sent an old ticket",
  wrongPhase: "that must try again later",
};

export class Refusals {
  readonly #options: RefusalsOptions;
  readonly #byCode = new Map<FaultCode, number>();
  #total = 0;
  #unreported = new Map<FaultCode, number>();
  #cancel: Cancel | null = null; // runs for `reportMs` after each report

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  get counts(): RefusalCounts {
    return { total: this.#total, byCode: Object.fromEntries(this.#byCode) };
  }

  count(code: FaultCode): void {
    this.#total++;
    add(this.#byCode, code);
    add(this.#unreported, code);
    if (this.#cancel === null) this.#report();
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = () => {};
  }

  #report(): void {
    const { timers, reportMs, onReport } = this.#options;
    const reasons = [...this.#unreported].map(([code, count]) => `${count} ${reasonTexts[code] ?? code}`).join(", ");
    this.#unreported = new Map();
    this.#cancel = timers.after(reportMs, () => {
      this.#cancel = null;
      if (this.#unreported.size > 0) this.#report();
    });
    const text = `Refused connections: ${reasons} (${this.#total} in all); ` +
      "a refused node logs the reason";
    onReport(text, this.counts);
  }
}

function add(counts: Map<FaultCode, number>, code: FaultCode): void {
  counts.set(code, (counts.get(code) ?? 0) + 1);
}
