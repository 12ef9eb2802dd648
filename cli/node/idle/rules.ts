/**
 * Decides from the user's rules and the machine's readings whether a miner pauses.
 *
 * A pause ends only well below the limit that caused it, so that a fluctuating value does not make a miner leave and
 * join all day. An unknown reading changes nothing.
 */

import { isWithin, type LocalMinute, type Schedule } from "./schedule.ts";

export interface PauseRules {
  readonly schedule: Schedule | null;
  readonly idleOnly: boolean;
  readonly mainsOnly: boolean;
  readonly maxCelsius: number | null;
}

export interface Readings {
  readonly at: LocalMinute;
  readonly isHeld: boolean;
  readonly otherLoad: number | null; // other processes' busy share of all cores, 0 to 1
  readonly userIdleMs: number | null;
  readonly onMains: boolean | null;
  readonly celsius: number | null;
}

type PauseCause = "hand" | "schedule" | "battery" | "temperature" | "load" | "user";

export type Verdict =
  | { readonly runs: true }
  | { readonly runs: false; readonly cause: PauseCause; readonly reason: string };

const limits = {
  otherLoad: { pause: 0.3, resume: 0.15 },
  userIdleMs: { pause: 60_000, resume: 300_000 },
  coolerCelsius: 5,
} as const;

export const running: Verdict = { runs: true };

export function decide(rules: PauseRules, readings: Readings, before: Verdict): Verdict {
  const { schedule, idleOnly, mainsOnly, maxCelsius } = rules;
  const { at, isHeld, otherLoad, userIdleMs, onMains, celsius } = readings;
  const wasFor = (cause: PauseCause) => !before.runs && before.cause === cause;
  if (isHeld) return rest("hand", "by hand; p on its screen or SIGUSR2 resumes it");
  if (schedule !== null && !isWithin(schedule, at)) return rest("schedule", `outside its hours (${schedule.text})`);
  if (!before.runs && isUnknown(before.cause, readings)) return before;
  if (mainsOnly && onMains === false) return rest("battery", "the machine runs on battery");
  if (maxCelsius !== null && celsius !== null) {
    const limit = wasFor("temperature") ? maxCelsius - limits.coolerCelsius : maxCelsius;
    if (celsius > limit) return rest("temperature", `${celsius.toFixed(0)} °C, above the limit of ${limit}`);
  }
  if (!idleOnly) return running;
  if (otherLoad !== null) {
    const limit = wasFor("load") ? limits.otherLoad.resume : limits.otherLoad.pause;
    if (otherLoad > limit) {
      return rest(
        "load",
        `other programs use ${percent(otherLoad)} of the processor, above the limit of ${percent(limit)}`,
      );
    }
  }
  if (userIdleMs !== null) {
    const limit = wasFor("user") ? limits.userIdleMs.resume : limits.userIdleMs.pause;
    if (userIdleMs < limit) return rest("user", "someone is using the machine");
  }
  return running;
}

function isUnknown(cause: PauseCause, { otherLoad, userIdleMs, onMains, celsius }: Readings): boolean {
  const readings = {
    hand: true,
    schedule: true,
    battery: onMains,
    temperature: celsius,
    load: otherLoad,
    user: userIdleMs,
  };
  return readings[cause] === null;
}

const rest = (cause: PauseCause, reason: string): Verdict => ({ runs: false, cause, reason });

const percent = (share: number): string => `${Math.round(100 * share)} %`;

export function unknowable(rules: PauseRules, readings: Readings): string[] {
  const missing: string[] = [];
  if (rules.maxCelsius !== null && readings.celsius === null) missing.push("--max-temp");
  if (rules.mainsOnly && readings.onMains === null) missing.push("--mains-only");
  if (rules.idleOnly && readings.otherLoad === null) missing.push("--idle-only");
  return missing;
}
