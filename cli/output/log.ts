/**
 * The log of one process: lines on stderr with a time and a level.
 *
 * Owns: the levels, the line format, and making any text safe to print (remote text must not control the terminal). Out
 * of scope: where lines go (`write` is injected). On a terminal a line starts with the time of day, in a file with date
 * and time.
 */

import type { Paint } from "./paint.ts";
import { printable } from "../screen/format.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";

export interface Log {
  debug(text: string): void;
  info(text: string): void;
  warn(text: string): void;
  error(text: string): void;
}

export interface LogOptions {
  readonly least: LogLevel;
  readonly paint: Paint;
  readonly withDate: boolean;
  readonly now: () => Date;
  readonly write: (line: string) => void; // line without its end
}

const rank: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

export function createLog({ least, paint, withDate, now, write }: LogOptions): Log {
  const labels: Readonly<Record<LogLevel, string>> = {
    debug: paint.dim("debug"),
    info: paint.cyan("info "),
    warn: paint.yellow("warn "),
    error: paint.red("error"),
  };
  const entry = (level: LogLevel) => (text: string) => {
    if (rank[level] < rank[least]) return;
    write(`${paint.dim(stamp(now(), withDate))} ${labels[level]} ${printable(text)}`);
  };
  return { debug: entry("debug"), info: entry("info"), warn: entry("warn"), error: entry("error") };
}

/** Local time, `14:03:07` or `2026-11-21 14:03:07`. */
export function stamp(date: Date, withDate: boolean): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (!withDate) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}
