/** `iota config check`: every problem of a file of settings with its line. The work is in cli/config. */

import type { Command } from "../command.ts";

export const command: Command = {
  name: "config check",
  summary: "name every problem of a file, with its line",
  usage: "config check FILE [--for KIND]",
  about:
    "Exit code 0: the file can be used; 1: it cannot. The kind of file is recognised by what it sets, or named with --for. " +
    "Files that it names are looked at as well; a relative path counts from the current folder, not from the file's.",
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
      defaultText: "by what it sets",
      doc: "a run's settings, or the options of a command",
    },
  ],
  positionals: { max: 1, placeholder: "FILE" },
  rights: { read: "any", env: "any" },
  async run(context) {
    return await (await import("../config/check_config.ts")).checkConfig(context);
  },
};
