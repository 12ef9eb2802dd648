/** `iota config`: the group of actions on files of settings. Each has a file of its own beside this one; the work is in cli/config. */

import type { Command, CommandTable } from "../command.ts";
import { missingAction } from "../output/missing_action.ts";

const actions: CommandTable = {
  show: async () => (await import("./config_show.ts")).command,
  check: async () => (await import("./config_check.ts")).command,
  init: async () => (await import("./config_init.ts")).command,
};

export const command: Command = {
  name: "config",
  summary: "show, check or write a settings file",
  usage: "config ACTION [options]",
  about:
    "Two kinds of files are read by --config: the settings of a run, for orchestrate and swarm, and the options of a node, for " +
    "miner, validate and every other command.",
  examples: [
    "iota config init --size small run.toml",
    "iota config check run.toml",
    "iota config show --config run.toml",
  ],
  options: [],
  actions,
  run() {
    throw missingAction("config", { actions, next: "Write one: iota config init run.toml" });
  },
};
