/** The work is in cli/tools/service. */

import type { Command } from "../terminal/command.ts";
import { serviceNameOption, servicePrograms } from "../terminal/options/service_options.ts";

export const command: Command = {
  name: "service logs",
  summary: "show what a service has printed",
  usage: "service logs [options]",
  examples: ["iota service logs --follow", "iota service logs --name night-miner --lines 200"],
  options: [
    serviceNameOption,
    {
      name: "lines",
      kind: "int",
      placeholder: "N",
      min: 1,
      max: 100_000,
      default: 50,
      doc: "how many of the last lines to show",
    },
    { name: "follow", kind: "boolean", doc: "follow new lines" },
  ],
  rights: { read: "any", run: servicePrograms },
  async run(context) {
    const { realMachine, showServiceLogs } = await import("../tools/service/service_actions.ts");
    return await showServiceLogs(context, realMachine);
  },
};
