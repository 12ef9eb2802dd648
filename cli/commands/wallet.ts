/** The actions on keys. */

import { type Command, type CommandTable, missingAction } from "../terminal/command.ts";
import { hotkeyOption, walletPathOption } from "../terminal/options/wallet_options.ts";
import { nameOption } from "./wallet_store.ts";

const actions: CommandTable = {
  new: async () => (await import("./wallet_new.ts")).command,
  list: async () => (await import("./wallet_list.ts")).command,
  show: async () => (await import("./wallet_show.ts")).command,
  import: async () => (await import("./wallet_import.ts")).command,
  regen: async () => (await import("./wallet_regen.ts")).command,
  sign: async () => (await import("./wallet_sign.ts")).command,
  verify: async () => (await import("./wallet_verify.ts")).command,
};

export const command: Command = {
  name: "wallet",
  summary: "create, show and use the keys of a wallet",
  usage: "wallet ACTION [options]",
  about:
    "Wallets are Bittensor's own files, so keys made here work in its tools and keys made there work here. A node needs " +
    "only a hotkey. The coldkey owns stake and tokens, is encrypted, and is best kept on another machine.",
  examples: [
    "iota wallet new --name miner",
    "iota wallet new --name owner --coldkey",
    "iota wallet show --name miner --json",
    "iota wallet sign --name miner --message hello",
  ],
  options: [nameOption, hotkeyOption, walletPathOption],
  actions,
  run() {
    throw missingAction("wallet", { actions, next: "Create a wallet: iota wallet new --name miner" });
  },
};
