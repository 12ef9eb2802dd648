/** `iota chain serve`: announces where a hotkey can be reached. The work is in cli/chain. */

import { chainOptions } from "../options/chain_options.ts";
import type { Command } from "../command.ts";
import { walletOptions } from "../options/wallet_options.ts";

export const command: Command = {
  name: "chain serve",
  summary: "announce a hotkey's address (axon)",
  usage: "chain serve --ip ADDRESS --port PORT [--wallet NAME] [options]",
  about:
    "The address must be one that others can reach. It is sent only when the chain holds another one, as each announcement " +
    "starts a rate limit. The hotkey signs; it is free.",
  examples: [
    "iota chain serve --ip 203.0.113.7 --port 8091 --wallet miner",
    "iota chain serve --ip 2001:db8::7 --port 8091 --wallet miner --json",
  ],
  options: [
    ...chainOptions,
    ...walletOptions,
    { name: "ip", kind: "string", placeholder: "ADDRESS", doc: "IPv4 or IPv6, as others see this machine" },
    { name: "port", kind: "int", placeholder: "PORT", min: 1, max: 65535, doc: "the port that others reach" },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/serve_axon.ts")).serveAxon(context);
  },
};
