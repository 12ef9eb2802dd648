/** The log's options, for a process that a command starts. */

import type { OptionValues } from "../command.ts";

const names = ["log-level", "log-format"] as const;

export const logWords = (options: OptionValues): string[] =>
  names.flatMap((name) => options.given(name) ? [`--${name}`, options.text(name)!] : []);
