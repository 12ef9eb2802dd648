/** How an experiment ends: with its table for people and its rows for programs, and where it is interrupted with those it has. */

import type { CommandContext } from "../../../cli/terminal/command.ts";
import { interrupted, untilStopped } from "../../../cli/program/errors.ts";

export interface Told {
  readonly rows: readonly unknown[];
  readonly table: readonly string[];
  readonly facts?: Readonly<Record<string, unknown>>; // beside the rows
}

/** `tell`: of what `work` has finished by then. */
export async function endWithRows(
  { output, positionals: [experiment] }: CommandContext,
  work: () => Promise<void>,
  tell: () => Told,
): Promise<number> {
  const say = (ending: Readonly<Record<string, unknown>>) => {
    const { rows, table, facts } = tell();
    if (rows.length > 0) { for (const line of ["", ...table]) output.line(line); }
    output.answer({ experiment, ...facts, rows, ...ending }, "");
  };
  await untilStopped(work, () => say(interrupted));
  say({});
  return 0;
}
