/** The option `--rows`: which rows of an experiment are run. */

import { UsageError } from "../../../cli/program/errors.ts";
import type { Experiment, Row } from "./experiments.ts";

/** The control, the rows whose names contain one of the words between commas, and the controls of their families. */
export function withRows(experiment: Experiment, text: string | undefined): Experiment {
  if (text === undefined) return experiment;
  const { rows } = experiment;
  const [control, ...others] = rows;
  const isPartOfName = (word: string) => others.some(({ name }) => name.includes(word));
  const words = wordsOf(text, isPartOfName);
  const controlOf = ({ family }: Row) => rows.find((row) => row.family === family);
  const chosen = others.filter(({ name }) => words.some((word) => name.includes(word)));
  const unmet = words.find((word) => !isPartOfName(word));
  if (control !== undefined && unmet === undefined && chosen.length > 0) {
    const kept = new Set([control, ...chosen, ...chosen.map(controlOf)]);
    return { ...experiment, rows: rows.filter((row) => kept.has(row)) };
  }
  const names = others.map(({ name }) => name).join("; ");
  throw new UsageError(
    unmet === undefined ? "--rows names no row" : `No row's name contains '${unmet}', which --rows names`,
    { next: `The names: ${names}` },
  );
}

/** Between commas, except those that are part of a name. */
function wordsOf(text: string, isPartOfName: (word: string) => boolean): string[] {
  const words: string[] = [];
  for (let parts = text.split(","); parts.length > 0;) {
    const firstParts = (count: number) => parts.slice(0, count).join(",").trim();
    let count = parts.length;
    while (count > 1 && !isPartOfName(firstParts(count))) count -= 1;
    words.push(firstParts(count));
    parts = parts.slice(count);
  }
  return words.filter((word) => word !== "");
}
