/** The work is in cli/tools/service. */

import type { Command } from "../terminal/command.ts";
import { serviceNameOption, servicePrograms } from "../terminal/options/service_options.ts";

export const command: Command = {
  name: "service install",
  summary: "start a role at boot, and restart it whenever it ends",
  usage: "service install [options] -- ROLE [its options]",
  about:
    "ROLE is miner, validate or orchestrate. The service may write only to its data folder and its log, and is restarted with " +
    "growing delays. When a new version replaces the program's file, a miner or validator stops between two rounds and restarts " +
    "with it; an orchestrator keeps its version until the service is installed again. An orchestrator's service begins the run and later resumes it. An earlier service " +
    "of the same name is replaced.",
  examples: [
    "iota service install --dry-run -- miner --wallet hot",
    "iota service install -- orchestrate --config run.toml --data runs/own",
    'iota service install --name night-miner -- miner --wallet hot --schedule "22:00-07:00"',
  ],
  options: [
    serviceNameOption,
    { name: "dry-run", kind: "boolean", doc: "print the service's file and write nothing" },
  ],
  positionals: { max: 200, placeholder: "ROLE" },
  rights: { read: "any", write: "any", run: servicePrograms, env: [], sys: ["networkInterfaces"] },
  async run(context) {
    const { installService, realMachine } = await import("../tools/service/service_actions.ts");
    return await installService(context, realMachine);
  },
};
