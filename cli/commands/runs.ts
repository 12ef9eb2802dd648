/** The work is in cli/node/find. */

import type { Command } from "../terminal/command.ts";
import { chainOptions } from "../terminal/options/named_chain.ts";
import { tlsAuthorityOption } from "../terminal/options/node_options.ts";

export const command: Command = {
  name: "runs",
  summary: "list the runs that a chain announces, or those on this machine",
  usage: "runs [--own] [--chain NETWORK] [--netuid N] [options]",
  about:
    "Lists the runs that miners and validators choose from without --orchestrator: announcements of the subnet's owner, then of " +
    "validators with a permit, ordered by stake; no others count. Each orchestrator is probed briefly. " +
    "Without --chain it reads the chain on this machine if there is one, otherwise subnet 9 of finney. " +
    "With --own it lists the runs in this machine's folders instead, the newest first: in runs/ below the current folder and in your " +
    "user data folder, or in --data DIR, together with runs that --fresh has put aside.",
  examples: ["iota runs --own", "iota runs", "iota runs --chain finney --netuid 9 --json", "iota runs --chain local"],
  options: [
    { name: "own", kind: "boolean", doc: "list the runs on this machine; asks no chain" },
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
  rights: { read: ["--tls-ca", "runs"], net: "any" },
  async run(context) {
    if (context.options.flag("own")) return await (await import("../node/find/list_own_runs.ts")).listOwnRuns(context);
    return await (await import("../node/find/list_runs.ts")).listRuns(context);
  },
};
