/** With --json each neuron has its own line before the summary. */

import { chainOptions } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "chain metagraph",
  summary: "list the neurons of a subnet",
  usage: "chain metagraph [options]",
  about: "Incentive and dividends are shares of 1; 'updated' is how many blocks ago weights were set or committed. " +
    "With --json each neuron has its own line before the summary.",
  examples: [
    "iota chain metagraph",
    "iota chain metagraph --sort incentive --limit 20",
    "iota chain metagraph --endpoint ws://127.0.0.1:9944 --netuid 9 --json",
  ],
  options: [
    ...chainOptions,
    {
      name: "sort",
      kind: "choice",
      placeholder: "BY",
      choices: ["uid", "stake", "incentive", "dividends", "emission"],
      default: "uid",
      doc: "the order",
    },
    { name: "limit", kind: "int", placeholder: "N", min: 1, defaultText: "all", doc: "show only the first N" },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/show_subnet.ts")).showMetagraph(context);
  },
};
