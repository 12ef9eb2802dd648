/** The work is in cli/chain. */

import { chainOptions } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "chain params",
  summary: "show a subnet's rules and its next epoch",
  usage: "chain params [options]",
  examples: ["iota chain params", "iota chain params --endpoint local --json"],
  options: chainOptions,
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/show_subnet.ts")).showParameters(context);
  },
};
