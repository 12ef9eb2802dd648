/** The work is in cli/chain. */

import { chainOptions, payingOptions, waitFinalOption } from "../terminal/options/chain_options.ts";
import type { Command } from "../terminal/command.ts";

export const command: Command = {
  name: "chain stake",
  summary: "add stake to a hotkey, or take it back",
  usage: "chain stake --amount TAO [--remove] [--wallet NAME] [options]",
  about:
    "Stake gives a hotkey influence: the hotkeys with the most stake get a validator permit in the next epoch. With --remove the amount is in " +
    "the subnet's own token, which the chain converts back into TAO at the current price.",
  examples: [
    "iota chain stake --amount 100 --wallet owner",
    "iota chain stake --amount 12.5 --remove --wallet owner",
    "iota chain stake --amount 1000 --wallet alice --endpoint local --json",
  ],
  options: [
    ...chainOptions,
    ...payingOptions,
    waitFinalOption,
    { name: "amount", kind: "string", placeholder: "TAO", doc: "how much, such as 0.5" },
    { name: "remove", kind: "boolean", doc: "take stake back instead" },
  ],
  rights: { read: "any", write: "any", net: "any", env: "any" },
  async run(context) {
    return await (await import("../chain/move_stake.ts")).moveStake(context);
  },
};
