/** Every command by the name a person types, in the order help lists them. A new command is one line here and one file. */

import type { CommandTable } from "./command.ts";

export const commandTable: CommandTable = {
  wallet: async () => (await import("./commands/wallet.ts")).command,
};
