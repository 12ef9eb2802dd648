/**
 * A command's summary as an aligned table: the fields of `--json` in their order. Values over the whole run are apart
 * from those since it was resumed.
 */

import type { Paint } from "../text/paint.ts";
import { byteSize, decimal, duration, printable, tokens } from "../text/format.ts";

export type SummaryFields = Readonly<Record<string, unknown>>;

const longText = 60; // characters; longer texts go below the table
const widthOfText = 78;

export function summaryTable(fields: SummaryFields, paint: Paint): string[] {
  const { resumedAtStep, sessionFields, ...measured } = fields;
  const ofSession = new Set(typeof resumedAtStep === "number" && Array.isArray(sessionFields) ? sessionFields : []);
  const rows: Row[] = [];
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(measured)) {
    if (isMissing(value) && !sayNone.has(name)) continue;
    const isLong = typeof value === "string" && (value.length > longText || value.includes("\n")) && /\s/.test(value);
    if (isLong) texts.push([label(name), value]);
    else rows.push({ name: label(name), value: shownValue(name, value), isOfSession: ofSession.has(name) });
  }
  const widest = Math.max(0, ...rows.map(({ name }) => name.length));
  const linesOf = (some: readonly Row[]) =>
    some.map(({ name, value }) => `${paint.dim(name.padEnd(widest))}  ${value}`);
  const session = rows.filter(({ isOfSession }) => isOfSession);
  const lines = linesOf(rows.filter(({ isOfSession }) => !isOfSession));
  if (session.length > 0) {
    lines.push("", paint.dim(`since it was resumed at step ${resumedAtStep}`), ...linesOf(session));
  }
  for (const [name, text] of texts) lines.push(paint.dim(name), ...indented(text));
  return lines;
}

interface Row {
  readonly name: string;
  readonly value: string;
  readonly isOfSession: boolean;
}

/** Other missing values were not measured and have no line. */
const sayNone: ReadonlySet<string> = new Set(["chain", "uid", "emissionRao", "earnedRao", "checkpoint"]);

const isMissing = (value: unknown): value is null | undefined => value === null || value === undefined;

const unitSuffix = /(Ms|Bytes)$/;

/** Programs rely on these names, but people need a unit or other words. */
const words: Readonly<Record<string, string>> = {
  controlBytes: "control bytes",
  earnedRao: "earned",
  emissionRao: "emission of the last epoch",
  firstLossMs: "time to the first loss",
  gradientsLost: "accepted gradients in no merge",
  mergeBytes: "merge bytes",
  parameterBytes: "parameter bytes",
  reLeases: "tasks handed out again",
  speculations: "tasks given to a second miner",
  wallMs: "wall time",
  wireBytes: "wire bytes",
};

function label(name: string): string {
  return words[name] ?? name.replace(unitSuffix, "").replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}

function shownValue(name: string, value: unknown): string {
  if (isMissing(value)) return "none";
  if ((name === "emissionRao" || name === "earnedRao") && /^\d+$/.test(String(value))) {
    return `${tokens(BigInt(String(value)))} alpha`;
  }
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

/** The text's own line breaks stay. */
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
