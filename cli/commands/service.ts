/** The actions on a service. */

import type { Command, CommandTable } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { serviceNameOption } from "../terminal/options/service_options.ts";

const actions: CommandTable = {
  install: async () => (await import("./service_install.ts")).command,
  status: async () => (await import("./service_status.ts")).command,
  logs: async () => (await import("./service_logs.ts")).command,
  remove: async () => (await import("./service_remove.ts")).command,
};

export const command: Command = {
  name: "service",
  summary: "run a role for months: start it at boot, restart it when it ends",
  usage: "service ACTION [options]",
  about:
    "Writes a systemd user unit (Linux) or a launchd agent (macOS) for this user, without root. Without such a manager, as in " +
    "containers, it writes the file and prints the commands for a machine that has one.",
  examples: [
    "iota service install -- miner --orchestrator ws://10.0.0.5:9009 --wallet hot",
    "iota service logs --follow",
  ],
  options: [serviceNameOption],
  actions,
  run() {
    throw new UsageError(
      `iota service needs an action: ${Object.keys(actions).join(", ")}`,
      { next: "Make a service: iota service install -- miner --wallet hot" },
    );
  },
};
