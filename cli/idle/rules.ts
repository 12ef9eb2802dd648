/**
 * When a miner works and when it rests: one pure decision from the person's rules and what the machine says.
 *
 * Owns: the rules, the limits and the sentence for each reason. What was chosen to stop for is left only well below the limit, so
 * that a value that trembles about it does not make a miner leave and join all day. A reading that is not known decides
 * nothing: who rests for it goes on resting.
 */

import { isWithin, type LocalMinute, type Schedule } from "./schedule.ts";

export interface PauseRules {
  readonly schedule: Schedule | null;
  readonly idleOnly: boolean; // nobody else uses the machine
  readonly mainsOnly: boolean; // not on its battery
  readonly maxCelsius: number | null;
}

export interface Readings {
  readonly at: LocalMinute;
  readonly isHeld: boolean; // by hand, until told otherwise
  readonly otherLoad: number | null; // busy share of all cores that is not this process's, 0 to 1
  readonly userIdleMs: number | null; // since a key or the mouse was touched
  readonly onMains: boolean | null;
  readonly celsius: number | null; // of the hottest sensor
}

export type PauseCause = "hand" | "schedule" | "battery" | "temperature" | "load" | "user";

export type Verdict =
  | { readonly runs: true }
  | { readonly runs: false; readonly cause: PauseCause; readonly reason: string };

export const limits = {
  otherLoad: { pause: 0.3, resume: 0.15 },
  userIdleMs: { pause: 60_000, resume: 300_000 },
  coolerCelsius: 5, // than the limit, before it goes on
} as const;

export const running: Verdict = { runs: true };

export function decide(rules: PauseRules, readings: Readings, before: Verdict): Verdict {
  const { schedule, idleOnly, mainsOnly, maxCelsius } = rules;
  const { at, isHeld, otherLoad, userIdleMs, onMains, celsius } = readings;
  const wasFor = (cause: PauseCause) => !before.runs && before.cause === cause;
  if (isHeld) return rest("hand", "stopped by signal SIGUSR2; send it again to go on");
  if (schedule !== null && !isWithin(schedule, at)) return rest("schedule", `outside its hours (${schedule.text})`);
  if (!before.runs && isUnknown(before.cause, readings)) return before;
  if (mainsOnly && onMains === false) return rest("battery", "the machine runs on its battery");
  if (maxCelsius !== null && celsius !== null) {
    const limit = wasFor("temperature") ? maxCelsius - limits.coolerCelsius : maxCelsius;
    if (celsius > limit) return rest("temperature", `${celsius.toFixed(0)} °C, and at most ${limit} are wanted`);
  }
  if (!idleOnly) return running;
  if (otherLoad !== null) {
    const limit = wasFor("load") ? limits.otherLoad.resume : limits.otherLoad.pause;
    if (otherLoad > limit) {
      return rest(
        "load",
        `other programs take ${percent(otherLoad)} of the processor, at most ${percent(limit)} may be`,
      );
    }
  }
  if (userIdleMs !== null) {
    const limit = wasFor("user") ? limits.userIdleMs.resume : limits.userIdleMs.pause;
    if (userIdleMs < limit) return rest("user", "somebody uses the machine");
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

/** Rules that this machine cannot keep, as it does not tell what they are about. */
export function unknowable(rules: PauseRules, readings: Readings): string[] {
  const missing: string[] = [];
  if (rules.maxCelsius !== null && readings.celsius === null) missing.push("--max-temp");
  if (rules.mainsOnly && readings.onMains === null) missing.push("--mains-only");
  if (rules.idleOnly && readings.otherLoad === null) missing.push("--idle-only");
  return missing;
}
