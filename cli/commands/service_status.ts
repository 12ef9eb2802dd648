/** The work is in cli/tools/service. */

import type { Command } from "../terminal/command.ts";
import { serviceNameOption, servicePrograms } from "../terminal/options/service_options.ts";

export const command: Command = {
  name: "service status",
  summary: "show whether a service runs",
  usage: "service status [options]",
  examples: ["iota service status", "iota service status --name night-miner"],
  options: [serviceNameOption],
  rights: { read: "any", run: servicePrograms },
  async run(context) {
    const { realMachine, showService } = await import("../tools/service/service_actions.ts");
    return await showService(context, realMachine);
  },
};
