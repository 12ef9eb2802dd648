/** `iota service install`: installs a role as a service. The work is in cli/service. */

import type { Command, OptionSpec } from "../terminal/command.ts";
import { serviceNameOption, servicePrograms } from "../terminal/options/service_options.ts";

const options: readonly OptionSpec[] = [
  serviceNameOption,
  { name: "dry-run", kind: "boolean", doc: "print the service's file and write nothing" },
];

export const command: Command = {
  name: "service install",
  summary: "start a role at boot, and restart it whenever it ends",
  usage: "service install [options] -- ROLE [its options]",
  about:
    "ROLE is miner, validate or orchestrate. The service may write only to its data folder and its log, and is restarted with " +
    "growing delays. When a new version replaces the program's file, a miner or validator stops between two rounds and restarts " +
    "with it; an orchestrator keeps its version until the service is installed again. An earlier service " +
    "of the same name is replaced.",
  examples: [
    "iota service install --dry-run -- miner --wallet hot",
    'iota service install --name night-miner -- miner --wallet hot --schedule "22:00-07:00"',
  ],
  options,
  positionals: { max: 200, placeholder: "ROLE" },
  rights: { read: "any", write: "any", run: servicePrograms, env: [], sys: ["networkInterfaces"] },
  async checkWords(words, commands) {
    const { mustSeparate } = await import("../tools/service/service_roles.ts");
    await mustSeparate(words, { options, commands });
  },
  async run(context) {
    const { installService } = await import("../tools/service/service_actions.ts");
    const { realMachine } = await import("../tools/service/real_machine.ts");
    return await installService(context, realMachine);
  },
};
