/** `iota config init`: a commented file to begin with. The work is in cli/config. */

import type { Command } from "../command.ts";
import { sizeOption } from "../run_options.ts";

export const command: Command = {
  name: "config init",
  summary: "write a file to begin with, every setting explained",
  usage: "config init [FILE] [--size NAME] [--for KIND] [--force]",
  about: "Every setting stands in it as a comment, with its value and what it means. An existing file is kept.",
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
    return await (await import("../config/init_config.ts")).initConfig(context);
  },
};
