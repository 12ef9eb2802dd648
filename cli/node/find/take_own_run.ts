/** The run of this machine that a command takes where its command line names none. */

import type { CommandContext } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { shellWord } from "../../program/shell_words.ts";
import { newestRun, runningRuns } from "./own_runs.ts";

/** Null: there is none, and the command says what it needs. A running one must be the only one, since requests change it. */
export async function takeOwnRun(
  context: CommandContext,
  { command, taken }: { command: string; taken: "newest" | "running" },
): Promise<string | null> {
  const { output } = context;
  if (taken === "newest") {
    const run = await newestRun(context);
    if (run !== null) output.log.info(`No run was named: taking the newest of this machine, ${run}`);
    return run;
  }
  const [run, ...others] = await runningRuns(context);
  if (run === undefined) return null;
  if (others.length === 0) {
    output.log.info(`No run was named: taking the one that runs on this machine, ${run}`);
    return run;
  }
  throw new UsageError(`Several runs are running on this machine: ${[run, ...others].join(", ")}`, {
    next: `Name the one that is meant: iota ${command} … --run ${shellWord(run)}`,
  });
}
