/** The actions on settings files. */

import { type Command, type CommandTable, missingAction } from "../terminal/command.ts";

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
    "The option --config reads two kinds of files: a run's settings, for orchestrate and swarm, and a node's options, for " +
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
