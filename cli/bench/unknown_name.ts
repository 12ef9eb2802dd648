/** The error for a benchmark, or a part of one, that does not exist: the valid names, and the one probably meant. */

import { closest } from "../options/args.ts";
import { UsageError } from "../output/errors.ts";
import { printable } from "../screen/format.ts";

export function unknownName(kind: string, given: { name: string; known: readonly string[] }): UsageError {
  const { name, known } = given;
  const next = `See iota help bench, or run: iota bench step`;
  const guess = closest(name, known);
  const meant = guess === undefined ? "" : `. Did you mean ${guess}?`;
  return new UsageError(
    `Cannot run bench as its ${kind} must be one of ${known.join(", ")}: current value is '${printable(name)}'${meant}`,
    { next },
  );
}
