/** Reads only public keys and opens no secret. */

import type { ListedWallet } from "../../chain/wallet/wallet_list.ts";
import type { Command, CommandContext } from "../terminal/command.ts";
import { explaining, foldersOf, walletPathOption } from "../terminal/options/wallet_options.ts";

export const command: Command = {
  name: "wallet list",
  summary: "list all wallets and their hotkeys",
  usage: "wallet list [options]",
  about: "With --json each wallet has its own line before the summary.",
  examples: ["iota wallet list", "iota wallet list --wallet-path wallets --json"],
  options: [walletPathOption],
  rights: { read: "any", env: "any" },
  async run(context) {
    const { listWallets } = await import("../../chain/wallet/wallet_list.ts");
    const folders = foldersOf(context);
    let wallets = 0;
    let hotkeys = 0;
    for (const folder of folders) {
      for (const wallet of await explaining({ folder, wallet: "NAME" }, () => listWallets(folder))) {
        print(context, wallet);
        wallets += 1;
        hotkeys += wallet.hotkeys.length;
      }
    }
    context.output.summary({ wallets, hotkeys, folders });
    return 0;
  },
};

function print({ output }: CommandContext, { name, path, coldkey, hotkeys }: ListedWallet): void {
  output.event({ type: "wallet", name, path, coldkey, hotkeys });
  const { paint } = output;
  output.line(`${paint.bold(name)}  ${paint.dim(path)}`);
  if (coldkey.state !== "absent") {
    output.line(
      `  coldkey         ${coldkey.address ?? coldkey.problem ?? "no coldkeypub.txt"} ${paint.dim(coldkey.state)}`,
    );
  }
  for (const hotkey of hotkeys) {
    output.line(`  hotkey ${hotkey.name.padEnd(8)} ${hotkey.address ?? hotkey.problem}`);
  }
  output.line("");
}
