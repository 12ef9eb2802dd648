/**
 * `iota miner`: computes a stage for a run. The work is in cli/run/run_node.ts.
 */

import type { Command } from "../command.ts";
import { chainOptions } from "../duty/chain_options.ts";
import { nodeOptions } from "../node_options.ts";

export const command: Command = {
  name: "miner",
  summary: "compute a stage of the model for a run",
  usage: "miner --orchestrator URL --wallet NAME",
  about:
    "Finds the GPU, signs in with the hotkey, loads the stage it is given and computes until the run is over. It dials out, so it works behind a home router; a dropped link is resumed. Ctrl-C hands its tasks back first.",
  examples: [
    "iota miner --wallet hot",
    "iota miner --orchestrator ws://10.0.0.5:9009 --wallet hot --hotkey second --json",
    "iota miner --wallet hot --listen 0.0.0.0:9010 --public-url http://203.0.113.7:9010",
  ],
  options: [
    ...nodeOptions,
    ...chainOptions,
    {
      name: "listen",
      kind: "string",
      placeholder: "HOST:PORT",
      doc: "let newcomers copy this stage's parameters from here",
    },
    {
      name: "public-url",
      kind: "string",
      placeholder: "URL",
      doc: "where they reach it, if not at the address of --listen",
    },
  ],
  rights: {
    read: ["data", "hotkeys"],
    write: ["data"],
    net: "any",
  },
  async run(context) {
    const { runMiner } = await import("../run/run_node.ts");
    return await runMiner(context);
  },
};
