/** The work is in cli/chain. */

import { chainOptions, hotkeyOptions, mechanismOption } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "chain status",
  summary: "show a hotkey's status and what is wrong",
  usage: "chain status [--wallet NAME] [--hotkey NAME] [options]",
  about:
    "Shows registration, permit, activity, weights and their effect, the next epoch, axon, balance and the endpoint itself. Exit code 0: " +
    "all is well, or time alone will fix it; 1: something is wrong. Needs no secret.",
  examples: [
    "iota chain status --wallet miner",
    "iota chain status --hotkey 5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY --json",
    "iota chain status --wallet alice --endpoint local",
  ],
  options: [...chainOptions, ...hotkeyOptions, mechanismOption],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/show_status.ts")).showStatus(context);
  },
};
