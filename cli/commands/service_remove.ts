/** The work is in cli/tools/service. */

import type { Command } from "../terminal/command.ts";
import { serviceNameOption, servicePrograms } from "../terminal/options/service_options.ts";

export const command: Command = {
  name: "service remove",
  summary: "stop a service and delete its file; data and wallets stay",
  usage: "service remove [options]",
  examples: ["iota service remove", "iota service remove --name night-miner"],
  options: [serviceNameOption],
  rights: { read: "any", write: "any", run: servicePrograms },
  async run(context) {
    const { realMachine, removeService } = await import("../tools/service/service_actions.ts");
    return await removeService(context, realMachine);
  },
};
