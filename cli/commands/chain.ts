/** The actions on a chain. */

import { chainOptions } from "../terminal/options/chain_options.ts";
import { type Command, type CommandTable, missingAction } from "../terminal/command.ts";

const actions: CommandTable = {
  status: async () => (await import("./chain_status.ts")).command,
  metagraph: async () => (await import("./chain_metagraph.ts")).command,
  params: async () => (await import("./chain_params.ts")).command,
  register: async () => (await import("./chain_register.ts")).command,
  stake: async () => (await import("./chain_stake.ts")).command,
  serve: async () => (await import("./chain_serve.ts")).command,
  weights: async () => (await import("./chain_weights.ts")).command,
  commit: async () => (await import("./chain_commit.ts")).command,
  local: async () => (await import("./chain_local.ts")).command,
};

export const command: Command = {
  name: "chain",
  summary: "look at a subnet, take part in it, or run a local chain",
  usage: "chain ACTION [options]",
  about:
    "All actions except local query the Subtensor chain that --endpoint names. Amounts are TAO on the screen and rao (10^-9 TAO) " +
    "with --json. Calls signed by the hotkey are free; the coldkey signs and pays for registering and staking. A run pays its miners if " +
    "its settings name a subnet (iota help orchestrate). Its orchestrator announces the run there if its hotkey is the subnet owner's or " +
    "has a permit, and admits only registered hotkeys. Its validators set weights once an epoch. A miner is paid in stake if validators " +
    "with more than half of all stake give it weight.",
  examples: [
    "iota chain local",
    "iota chain metagraph --endpoint local",
    "iota chain status --wallet miner",
  ],
  options: chainOptions,
  actions,
  run() {
    const next = "Look at a subnet: iota chain metagraph. Start your own chain: iota chain local";
    throw missingAction("chain", { actions, next });
  },
};
