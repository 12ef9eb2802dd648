/** The command that resumes a stopped swarm: in the run's folder, with the given options that no run keeps. */

import type { OptionSpec, OptionValues } from "../terminal/command.ts";
import { givenWords } from "../terminal/options/run_options.ts";

/** `unkept`: options that no run keeps. */
export const resumeWords = (
  options: OptionValues,
  { folder, unkept }: { folder: string; unkept: readonly OptionSpec[] },
): string[] => ["iota", "swarm", "--data", folder, ...givenWords(options, unkept)];
