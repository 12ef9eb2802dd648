/**
 * Compares two machines' clocks, and gives a node the orchestrator's time when its own clock is wrong.
 *
 * A stamp counts only for the receiver named in the request, so an orchestrator that lies about its clock gets requests
 * that only it would accept.
 */

import type { Cancel, Timers } from "../timers.ts";

export interface ClockDifference {
  readonly aheadMs: number; // positive: ahead of this one's
  readonly errorMs: number;
}

/** `theirsMs` was read at some moment of the `tookMs` before `oursMs`. */
export function compareClocks(at: { theirsMs: number; oursMs: number; tookMs: number }): ClockDifference {
  const halfMs = Math.max(0, at.tookMs) / 2;
  return { aheadMs: Math.round(at.theirsMs - (at.oursMs - halfMs)), errorMs: Math.ceil(halfMs) };
}

/**
 * Beyond 10 s the times in two logs are hard to compare. Requests are refused only beyond `clockSkewMs` (limits.ts).
 */
const noticeableMs = 10_000;

export const isNoticeable = ({ aheadMs, errorMs }: ClockDifference): boolean =>
  Math.abs(aheadMs) - errorMs > noticeableMs;

export const isAlike = (one: ClockDifference, other: ClockDifference): boolean =>
  Math.abs(one.aheadMs - other.aheadMs) <= noticeableMs + one.errorMs + other.errorMs;

export const clockText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** The orchestrator's time since the last hello, by the monotonic clock: setting the wall clock changes nothing. */
export class HubTime implements Timers {
  readonly #timers: Timers;
  #aheadOfSteadyMs: number | null = null; // null: no hello yet

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  learn({ aheadMs }: ClockDifference): void {
    this.#aheadOfSteadyMs = this.#timers.nowMs() + aheadMs - this.#timers.steadyMs();
  }

  nowMs(): number {
    return this.#aheadOfSteadyMs === null ? this.#timers.nowMs() : this.#timers.steadyMs() + this.#aheadOfSteadyMs;
  }

  steadyMs(): number {
    return this.#timers.steadyMs();
  }

  after(delayMs: number, callback: () => void): Cancel {
    return this.#timers.after(delayMs, callback);
  }
}
