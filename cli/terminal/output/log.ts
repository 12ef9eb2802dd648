/**
 * A process's log: lines on stderr with a time and a level, safe to print. A terminal gets the time of day, a file also
 * the date. JSON is `{"time", "level", "text"}` with UTC; these names stay.
 */

import type { Paint } from "../text/paint.ts";
import { printable } from "../text/format.ts";

export const logLevels = ["error", "warn", "info", "debug"] as const;
export type LogLevel = typeof logLevels[number];

export const logFormats = ["text", "json"] as const;
export type LogFormat = typeof logFormats[number];

export interface Log {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

interface LogOptions {
  readonly least: LogLevel;
  readonly format?: LogFormat;
  readonly paint: Paint;
  readonly withDate: boolean;
  readonly now: () => Date;
  readonly write: (line: string) => void;
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog({ least, format = "text", paint, withDate, now, write }: LogOptions): Log {
  const labels: Readonly<Record<LogLevel, string>> = {
    debug: paint.dim("debug"),
    info: paint.cyan("info "),
    warn: paint.yellow("warn "),
    error: paint.red("error"),
  };
  const entry = (level: LogLevel) => (text: string) => {
    if (rank[level] < rank[least]) return;
    if (format === "json") return write(jsonLine({ level, text }, now()));
    write(`${paint.dim(stamp(now(), withDate))} ${labels[level]} ${printable(text)}`);
  };
  return { debug: entry("debug"), info: entry("info"), warn: entry("warn"), error: entry("error") };
}

export const jsonLine = ({ level, text }: { level: LogLevel; text: string }, at: Date): string =>
  JSON.stringify({ time: at.toISOString(), level, text: printable(text) });

export function stamp(date: Date, withDate: boolean): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (!withDate) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}
