/**
 * How far this machine's clock is off, by the `Date` header of any answer, or by the time of the chain's newest block.
 *
 * Owns: the sample and the verdict. A `Date` has whole seconds and network delay, so each sample has an error; a clock
 * within it is right. Signed requests are refused beyond `clockSkewMs` (net/limits.ts), so that is wrong; a few seconds
 * are a warning.
 */

import { defaultNetLimits } from "../../../net/limits.ts";
import { duration } from "../../terminal/text/format.ts";
import type { System } from "../../program/paths.ts";
import { good, skipped, type Verdict, warning, wrong } from "./verdict.ts";

export interface ClockSample {
  readonly by: string; // the source, for people
  readonly offsetMs: number; // how far this clock is ahead
  readonly errorMs: number; // in either direction
}

const noticeableMs = 3_000;
const clockOf = { ofDate: 500 }; // a Date is up to a second old: take the middle, with half a second as error

/** Null: the answer has no date. `sentMs`, `receivedMs`: this machine's clock before and after the request. */
export function sampleOfDate(
  date: string | null,
  { by, sentMs, receivedMs }: { by: string; sentMs: number; receivedMs: number },
): ClockSample | null {
  const dateMs = Date.parse(date ?? "");
  if (Number.isNaN(dateMs)) return null;
  const offsetMs = (sentMs + receivedMs) / 2 - (dateMs + clockOf.ofDate);
  return { by, offsetMs, errorMs: clockOf.ofDate + (receivedMs - sentMs) / 2 };
}

/** By blocks, which may be late but never early: detects only a clock that is behind or far ahead. */
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
