/**
 * The summary of a command as an aligned table for people: the same fields `--json` prints, in their order.
 *
 * Owns: turning a field's name into words and, by its unit suffix, its value into a readable one. Pure.
 */

import type { Paint } from "./paint.ts";
import { byteSize, decimal, duration, printable } from "./screen/format.ts";

export type SummaryFields = Readonly<Record<string, unknown>>;

const longText = 60; // characters; longer texts stand under the table
const widthOfText = 78;

export function summaryTable(fields: SummaryFields, paint: Paint): string[] {
  const rows: [string, string][] = [];
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(fields)) {
    const isLong = typeof value === "string" && (value.length > longText || value.includes("\n")) && /\s/.test(value);
    if (isLong) texts.push([label(name), value]);
    else rows.push([label(name), shownValue(name, value)]);
  }
  const widest = Math.max(0, ...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `${paint.dim(name.padEnd(widest))}  ${value}`);
  for (const [name, text] of texts) lines.push(paint.dim(name), ...indented(text));
  return lines;
}

const unitSuffix = /(Ms|Bytes)$/;

/** `firstLossMs` → `first loss`, `bytesPerTokenForward` → `bytes per token forward`. */
function label(name: string): string {
  return name.replace(unitSuffix, "").replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().replace(/^re /, "re-");
}

function shownValue(name: string, value: unknown): string {
  if (value === null || value === undefined) return "not measured";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return printable(value);
  if (Array.isArray(value)) return value.map((item) => shownValue("", item)).join(", ");
  if (typeof value === "object") {
    return Object.entries(value).map(([key, item]) => `${label(key)} ${shownValue(key, item)}`).join(", ");
  }
  if (typeof value !== "number") return String(value);
  if (name.endsWith("Ms")) return duration(value);
  if (/^bytesPer|Bytes(Per[A-Z][a-z]+)?$/.test(name)) return byteSize(value);
  if (/loss|entropy/i.test(name) && !Number.isInteger(value)) return value.toFixed(4);
  return decimal(value);
}

/** Wrapped at words; the text's own lines stay lines. */
function indented(text: string): string[] {
  return text.split(/\r?\n/).flatMap((line) => {
    const lines: string[] = [""];
    for (const word of printable(line).split(" ")) {
      const last = lines.at(-1)!;
      if (last !== "" && last.length + 1 + word.length > widthOfText) lines.push(word);
      else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
    }
    return lines.map((wrapped) => `  ${wrapped}`.trimEnd());
  });
}
