/** The work is in cli/chain. */

import { chainOptions, payingOptions, waitFinalOption } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "chain register",
  summary: "register a hotkey in a subnet",
  usage: "chain register [--wallet NAME] [--hotkey NAME] [options]",
  about:
    "Shows the price and pays it from the wallet's coldkey. The price is checked again right before paying, because it moves with " +
    "demand: above --max-cost nothing is sent. For a hotkey that is already registered, nothing is paid and the exit code is 0. " +
    "On a local chain //Alice pays, and a wallet without a coldkey gets one that is derived from its hotkey (//Alice//HOTKEY).",
  examples: [
    "iota chain register --wallet miner",
    "iota chain register --wallet owner --hotkey second --max-cost 0.5",
    "iota chain register --wallet alice --endpoint local --json",
  ],
  options: [
    ...chainOptions,
    ...payingOptions,
    waitFinalOption,
    {
      name: "max-cost",
      kind: "string",
      placeholder: "TAO",
      defaultText: "the price first shown plus 5 %",
      doc: "refuse a higher price",
    },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/register_hotkey.ts")).registerHotkey(context);
  },
};
