/** Reads Prometheus' text format 0.0.4, as strictly as its specification; throws at the first line that does not belong there. */

import { assert } from "@std/assert";

export interface ReadExposition {
  readonly values: ReadonlyMap<string, number>; // by the series as written
  readonly types: ReadonlyMap<string, string>; // by metric
  readonly labels: readonly Readonly<Record<string, string>>[];
}

export function parseExposition(text: string): ReadExposition {
  assert(text.endsWith("\n"), "the last line ends");
  const values = new Map<string, number>();
  const types = new Map<string, string>();
  const labels: Record<string, string>[] = [];
  let current = "";
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    if (comment !== null) {
      const [, keyword, name, rest] = comment;
      if (keyword === "HELP") assert(!types.has(name!), `${name} has one HELP`);
      else types.set(name!, rest!);
      current = name!;
      continue;
    }
    const sample = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$/.exec(line);
    assert(sample !== null, `not a sample: ${line}`);
    const [, name, , inside, number] = sample;
    assert(
      name === current || (types.get(current) === "summary" && /_(sum|count)$/.test(name!)),
      `${name} under ${current}`,
    );
    if (inside !== undefined) labels.push(parseLabels(inside));
    const series = line.slice(0, line.lastIndexOf(" "));
    assert(!values.has(series), `${series} appears once`);
    values.set(series, numberOf(number!));
  }
  return { values, types, labels };
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== "") {
    const pair = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,|$)/.exec(rest);
    assert(pair !== null, `not a label: ${rest}`);
    labels[pair[1]!] = pair[2]!.replace(/\\(.)/g, (_, escaped) => escaped === "n" ? "\n" : escaped);
    rest = rest.slice(pair[0].length);
  }
  return labels;
}

function numberOf(text: string): number {
  if (text === "NaN") return NaN;
  if (/^[+-]Inf$/.test(text)) return text === "+Inf" ? Infinity : -Infinity;
  const value = Number(text);
  assert(Number.isFinite(value), `not a number: ${text}`);
  return value;
}
