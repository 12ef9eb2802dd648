/**
 * This machine's clock error, from the `Date` of any answer or the chain's newest block.
 *
 * A `Date` has whole seconds and network delay, so each sample has an error; a clock within it is right. Beyond
 * `clockSkewMs` (net/limits.ts), where signed requests are refused, it is wrong; a few seconds are a warning.
 */

import { defaultNetLimits } from "../../../net/limits.ts";
import { duration } from "../../terminal/text/format.ts";
import type { System } from "../../program/paths.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";

export interface ClockSample {
  readonly by: string;
  readonly offsetMs: number; // how far this clock is ahead
  readonly errorMs: number;
}

const noticeableMs = 3_000;
const clockOf = { ofDate: 500 }; // a Date is up to a second old: its middle, with half a second as error

/** Null: no date. Both times are of this machine. */
export function sampleOfDate(
  date: string | null,
  { by, sentMs, receivedMs }: { by: string; sentMs: number; receivedMs: number },
): ClockSample | null {
  const dateMs = Date.parse(date ?? "");
  if (Number.isNaN(dateMs)) return null;
  const offsetMs = (sentMs + receivedMs) / 2 - (dateMs + clockOf.ofDate);
  return { by, offsetMs, errorMs: clockOf.ofDate + (receivedMs - sentMs) / 2 };
}

/** Blocks may be late but never early, so this detects only a clock that is behind or far ahead. */
export function sampleOfBlock(
  { by, headAgeMs, blockMs }: { by: string; headAgeMs: number; blockMs: number },
): ClockSample {
  return { by, offsetMs: headAgeMs - blockMs / 2, errorMs: blockMs + 2_000 };
}

export function judgeClock(samples: readonly ClockSample[], system: System): Verdict {
  const best = samples.toSorted((a, b) => a.errorMs - b.errorMs)[0];
  if (best === undefined) return skipped("no answer contained the time");
  const { by, offsetMs, errorMs } = best;
  const facts = { by, offsetMs: Math.round(offsetMs), errorMs: Math.round(errorMs) };
  const leastMs = Math.max(0, Math.abs(offsetMs) - errorMs);
  if (leastMs < noticeableMs) return good(`agrees with ${by} within ${duration(Math.abs(offsetMs) + errorMs)}`, facts);
  const text = `${duration(Math.abs(offsetMs))} ${offsetMs > 0 ? "ahead of" : "behind"} ${by}`;
  const fix = `Let the system keep the time: ${commands[system]}`;
  const limitMs = defaultNetLimits.clockSkewMs;
  if (leastMs < limitMs) return warning(text, fix, facts);
  return wrong(`${text}: signed requests are refused if clocks differ by more than ${duration(limitMs)}`, fix, facts);
}

const commands: Readonly<Record<System, string>> = {
  linux: "timedatectl set-ntp true",
  darwin: "sudo sntp -sS time.apple.com",
  windows: "w32tm /resync",
};
