/** Numbers and words for a terminal: single lines of characters of width one. */

import { nounFor } from "../../../core/plural.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** `850 ms`, `4.2 s`, `3 m 07 s`, `3 d 04 h`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < secondMs) return `${Math.round(ms)} ms`;
  if (ms < minuteMs - 50) return `${(ms / secondMs).toFixed(1)} s`;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const whole = Math.round(ms / secondMs) * secondMs;
  if (whole < hourMs) return `${Math.floor(whole / minuteMs)} m ${two((whole % minuteMs) / secondMs)} s`;
  if (whole < dayMs) return `${Math.floor(whole / hourMs)} h ${two((whole % hourMs) / minuteMs)} m`;
  return `${Math.floor(whole / dayMs)} d ${two((whole % dayMs) / hourMs)} h`;
}

/** For estimates: `40 s`, `12 min`, `3.5 h`, `2.1 days`. */
export function roughly(ms: number): string {
  if (ms < 90 * secondMs) return `${Math.ceil(ms / secondMs)} s`;
  if (ms < 90 * minuteMs) return `${Math.round(ms / minuteMs)} min`;
  return ms < 36 * hourMs ? `${(ms / hourMs).toFixed(1)} h` : `${(ms / dayMs).toFixed(1)} days`;
}

export function plural(count: number, noun: string): string {
  return `${decimal(count)} ${nounFor(count, noun)}`;
}

/** `0:07`, `12:34`, `3:04:05`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / secondMs));
  const two = (value: number) => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** Powers of 1024: `512 B`, `1.5 KiB`, `12.0 MiB`. */
export function byteSize(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${decimal(value)} B` : `${value.toFixed(1)} ${units[unit]}`;
}

/** Three significant digits: `7.25`, `33`, `4,100,000`. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 100) return grouped(Math.round(value));
  if (size >= 1) return String(Number(value.toFixed(size >= 10 ? 1 : 2)));
  return size >= 0.001 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

const raoDigits = 9;

/** `1,000`, `0.1`, `999,999.898725`. */
export function tokens(rao: bigint): string {
  const digits = String(rao < 0n ? -rao : rao).padStart(raoDigits + 1, "0");
  const fraction = digits.slice(-raoDigits).replace(/0+$/, "");
  const whole = digits.slice(0, -raoDigits).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${rao < 0n ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** `987`, `12.3k`, `4.1M`, `2.0G`. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const steps: [number, string][] = [[1e9, "G"], [1e6, "M"], [1e4, "k"]];
  for (const [size, letter] of steps) {
    if (Math.abs(value) < size) continue;
    const unit = letter === "k" ? 1e3 : size;
    return `${(value / unit).toFixed(1)}${letter}`;
  }
  return Math.abs(value) >= 10 ? grouped(Math.round(value)) : decimal(value);
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function shortAddress(address: string): string {
  return address.length <= 12 ? address : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

const bars = "▁▂▃▄▅▆▇█";

/** The newest on the right, scaled to the values shown; a non-number leaves a gap. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = binned(values, width);
  const finite = shown.filter(Number.isFinite);
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low;
  return shown.map((value) => {
    if (!Number.isFinite(value)) return " ";
    return bars[span === 0 ? 0 : Math.round(((value - low) / span) * (bars.length - 1))];
  }).join("");
}

/** Means of neighbours, so that the whole run stays visible. */
function binned(values: readonly number[], width: number): number[] {
  if (values.length <= width) return [...values];
  return Array.from({ length: width }, (_, bin) => {
    const from = Math.floor((bin * values.length) / width);
    const to = Math.floor(((bin + 1) * values.length) / width);
    const inside = values.slice(from, to).filter(Number.isFinite);
    return inside.reduce((sum, value) => sum + value, 0) / inside.length;
  });
}

export function bar(fraction: number, width: number): string {
  const bounded = Number.isFinite(fraction) ? Math.min(1, Math.max(0, fraction)) : 0;
  const full = Math.floor(bounded * width);
  return "█".repeat(full) + "░".repeat(width - full);
}

// deno-lint-ignore no-control-regex -- the escape character is what this is about
const escapes = /\x1b\[[0-9;]*m/g;

export const withoutColour = (text: string): string => text.replaceAll(escapes, "");

export function visibleWidth(text: string): number {
  return [...text.replace(escapes, "")].length;
}

export function cut(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return width <= 1 ? "…".slice(0, Math.max(0, width)) : `${characters.slice(0, width - 1).join("")}…`;
}

export function padEnd(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - visibleWidth(text)));
}

export function padStart(text: string, width: number): string {
  return " ".repeat(Math.max(0, width - visibleWidth(text))) + text;
}

/** One line without control characters, so that no peer can control a user's terminal. */
export function printable(text: string): string {
  return text.replace(/\s*[\r\n]+\s*/g, " · ").replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, "\ufffd");
}

/** Breaks unpainted text between words; a longer word has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
