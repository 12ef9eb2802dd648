/** `iota service install`: makes a service of a role. The work is in cli/service. */

import type { Command } from "../command.ts";
import { serviceNameOption, servicePrograms } from "../service/service_options.ts";

export const command: Command = {
  name: "service install",
  summary: "start a role with the machine, and again whenever it ends",
  usage: "service install [options] -- ROLE [its options]",
  about:
    "ROLE is miner, validate or orchestrate. The service may write only to its data folder, is started again with growing waits, and " +
    "leaves between two rounds when the program's file is replaced by a new version. An earlier service of the name is replaced.",
  examples: [
    "iota service install --dry-run -- miner --wallet hot",
    'iota service install --name night-miner -- miner --wallet hot --schedule "22:00-07:00"',
  ],
  options: [
    serviceNameOption,
    { name: "dry-run", kind: "boolean", doc: "print the service's file, and write nothing" },
  ],
  positionals: { max: 200, placeholder: "ROLE" },
  rights: { read: "any", write: "any", run: servicePrograms, env: [] },
  async run(context) {
    const { installService } = await import("../service/service_actions.ts");
    const { realMachine } = await import("../service/real_machine.ts");
    return await installService(context, realMachine);
  },
};
