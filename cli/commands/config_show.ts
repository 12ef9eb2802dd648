/** The work is in cli/tools/config. */

import type { Command } from "../terminal/command.ts";
import { runOptions } from "../terminal/options/run_options.ts";

export const command: Command = {
  name: "config show",
  summary: "show every setting of a run and its origin",
  usage: "config show [--config FILE] [--size NAME] [options]",
  about:
    "Takes the options of orchestrate and swarm. Its output is a file that gives the same run. With --json each setting has its " +
    "own line before the summary.",
  examples: [
    "iota config show --size small",
    "iota config show --config run.toml --changed",
    "iota config show --size tiny --set train.learningRate=1e-3 --json",
  ],
  options: [
    ...runOptions.filter(({ name }) => name !== "resume" && name !== "fresh"),
    { name: "changed", kind: "boolean", doc: "show only what the file and the command line set" },
  ],
  configures: "run",
  rights: { read: "any", env: "any" },
  async run(context) {
    return await (await import("../tools/config/show_config.ts")).showConfig(context);
  },
};
