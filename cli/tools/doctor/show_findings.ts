/** Findings as text: a mark, a name, the message, and below it the next step. Pure. */

import type { Paint } from "../../terminal/text/paint.ts";
import { padEnd, plural, printable, wrapped } from "../../terminal/text/format.ts";
import { type Finding, type Level, worstOf } from "./verdict.ts";

export interface FindingPage {
  readonly paint: Paint;
  readonly columns: number;
  readonly nameWidth: number;
}

const widest = 100; // columns; longer lines are hard to read

export function findingLines(
  { name, level, text, fix }: Finding,
  { paint, columns, nameWidth }: FindingPage,
): string[] {
  const marks: Record<Level, string> = {
    good: paint.green("●"),
    warning: paint.yellow("!"),
    wrong: paint.red("×"),
    skipped: paint.dim("·"),
  };
  const indent = " ".repeat(nameWidth + 4);
  const width = Math.max(30, Math.min(columns, widest) - indent.length);
  const shade = (line: string) => level === "skipped" ? paint.dim(line) : line;
  const [first = "", ...more] = linesOf(text, width).map(shade);
  const steps = fix === undefined ? [] : linesOf(fix, width - 6);
  return [
    `${marks[level]} ${paint.dim(padEnd(name, nameWidth))}  ${first}`,
    ...more.map((line) => indent + line),
    ...steps.map((line, i) => `${indent}${i === 0 ? paint.dim("next  ") : "      "}${line}`),
  ];
}

const glue = "\ue000"; // from the private use area: no text contains it

/** Keeps a number and its unit on one line. */
function linesOf(text: string, width: number): string[] {
  const glued = printable(text).replaceAll(/(\d) (?=([KMGT]i)?B\b|m?s\b)/g, `$1${glue}`);
  return wrapped(glued, width).map((line) => line.replaceAll(glue, " "));
}

/** `Ready, with 2 warnings.` */
export function closingLine(findings: readonly Finding[], paint: Paint): string {
  const count = (level: Level) => findings.filter((finding) => finding.level === level).length;
  const warnings = count("warning") === 0 ? "" : plural(count("warning"), "warning");
  if (worstOf(findings) === "wrong") {
    const also = warnings === "" ? "" : `, and ${warnings}`;
    return `${paint.red("Not ready")}: ${plural(count("wrong"), "problem")} to fix${also}.`;
  }
  return warnings === "" ? `${paint.green("Ready")}.` : `${paint.green("Ready")}, with ${warnings}.`;
}
