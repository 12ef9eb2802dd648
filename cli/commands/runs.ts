/** `iota runs`: lists the runs that a subnet's chain announces. The work is in cli/find. */

import type { Command } from "../command.ts";
import { chainOptions } from "../duty/chain_options.ts";
import { tlsAuthorityOption } from "../options/node_options.ts";

export const command: Command = {
  name: "runs",
  summary: "list the runs that a subnet's chain announces, and who vouches for them",
  usage: "runs [--chain NETWORK] [--netuid N] [options]",
  about:
    "Lists the runs that miners and validators choose from without --orchestrator: announcements of the subnet's owner, then of " +
    "validators with a permit, ordered by stake; no others count. Each orchestrator is probed briefly. " +
    "Without --chain it reads the chain on this machine if there is one, otherwise subnet 9 of finney.",
  examples: ["iota runs", "iota runs --chain finney --netuid 9 --json", "iota runs --chain local"],
  options: [
    ...chainOptions.map((option) => ({
      ...option,
      defaultText: option.name === "chain" ? "the chain on this machine, else finney" : "9",
    })),
    {
      name: "timeout",
      kind: "float",
      placeholder: "SECONDS",
      min: 0.1,
      max: 60,
      default: 5,
      doc: "how long an orchestrator may take to answer",
    },
    tlsAuthorityOption,
  ],
  rights: { read: ["--tls-ca"], net: "any" },
  async run(context) {
    return await (await import("../find/list_runs.ts")).listRuns(context);
  },
};
