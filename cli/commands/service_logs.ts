/** `iota service logs`: shows what a service has printed. The work is in cli/service. */

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
    { name: "follow", kind: "boolean", doc: "follow new lines; a role's own log file is shown once" },
  ],
  rights: { read: "any", run: servicePrograms },
  async run(context) {
    const { showServiceLogs } = await import("../tools/service/service_actions.ts");
    const { realMachine } = await import("../tools/service/real_machine.ts");
    return await showServiceLogs(context, realMachine);
  },
};
