/** The work is in cli/tools/config. */

import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "config check",
  summary: "report every problem of a settings file, with its line",
  usage: "config check FILE [--for KIND]",
  about:
    "Exit code 0: the file can be used; 1: it cannot. The kind of file is inferred from its settings, or given with --for. " +
    "Files that it names are checked as well; relative paths start at the current folder, not at the file's.",
  examples: [
    "iota config check run.toml",
    "iota config check miner.toml --for miner",
    "iota config check run.toml --json",
  ],
  options: [
    {
      name: "for",
      kind: "choice",
      placeholder: "KIND",
      choices: ["run", "miner", "validate"],
      defaultText: "inferred",
      doc: "a run's settings, or the options of a command",
    },
  ],
  positionals: { max: 1, placeholder: "FILE" },
  rights: { read: "any", env: "any" },
  async run(context) {
    return await (await import("../tools/config/check_config.ts")).checkConfig(context);
  },
};
