/** The work is in cli/chain. */

import { chainOptions, waitFinalOption } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";
import { walletOptions } from "../terminal/options/wallet_options.ts";

export const command: Command = {
  name: "chain serve",
  summary: "announce a hotkey's address (axon)",
  usage: "chain serve --ip ADDRESS --port PORT [--wallet NAME] [options]",
  about:
    "Others must be able to reach the address. It is sent only when the chain holds a different one, because each announcement " +
    "starts a rate limit. The hotkey signs; there is no fee.",
  examples: [
    "iota chain serve --ip 203.0.113.7 --port 8091 --wallet miner",
    "iota chain serve --ip 2001:db8::7 --port 8091 --wallet miner --json",
  ],
  options: [
    ...chainOptions,
    ...walletOptions,
    waitFinalOption,
    { name: "ip", kind: "string", placeholder: "ADDRESS", doc: "IPv4 or IPv6, as others see this machine" },
    { name: "port", kind: "int", placeholder: "PORT", min: 1, max: 65535, doc: "the port that others reach" },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/serve_axon.ts")).serveAxon(context);
  },
};
