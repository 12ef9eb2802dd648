/** Durations as people type them: `90s`, `5m`, `2h`, `1d`, and `0`. */

import { UsageError } from "../../program/errors.ts";

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const longestMs = 365 * 86_400_000;

export function durationOf(text: string): number | null {
  if (text === "0") return 0;
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(digits) * unitMs[unit ?? ""]!;
  return ms <= longestMs ? ms : null; // false for NaN
}

export function durationOption(name: string, text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = durationOf(text);
  if (ms !== null) return ms;
  throw new UsageError(
    `--${name} must be a number with a unit, at most 365d, or 0, but is '${text}'`,
    { next: `For example: --${name} 90s; also 5m, 2h, 1d` },
  );
}
