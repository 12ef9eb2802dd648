/** The work is in cli/tools/config. */

import type { Command } from "../terminal/command.ts";
import { sizeOption } from "../terminal/options/run_options.ts";

export const command: Command = {
  name: "config init",
  summary: "write a settings file in which every setting is explained",
  usage: "config init [FILE] [--size NAME] [--for KIND] [--force]",
  about: "The file lists every setting as a comment, with its value and meaning. An existing file is kept.",
  examples: ["iota config init", "iota config init --size small run.toml", "iota config init --for miner miner.toml"],
  options: [
    sizeOption,
    {
      name: "for",
      kind: "choice",
      placeholder: "KIND",
      choices: ["run", "miner", "validate"],
      default: "run",
      doc: "a run's settings, or the options of a command",
    },
    { name: "force", kind: "boolean", doc: "replace the file" },
  ],
  positionals: { max: 1, placeholder: "FILE" },
  rights: { read: "any", write: "any", env: "any" },
  async run(context) {
    return await (await import("../tools/config/init_config.ts")).initConfig(context);
  },
};
