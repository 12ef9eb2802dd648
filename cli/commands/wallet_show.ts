/** Loads and tests the hotkey; opens no other secret. */

import type { ListedWallet } from "../../chain/wallet/wallet_list.ts";
import type { Command, CommandContext } from "../terminal/command.ts";
import {
  explaining,
  findColdkey,
  findHotkey,
  hotkeyOption,
  openHotkeyOf,
  walletPathOption,
  warnOfOthers,
} from "../terminal/options/wallet_options.ts";
import { nameOption } from "./wallet_store.ts";

export const command: Command = {
  name: "wallet show",
  summary: "show a wallet's addresses",
  usage: "wallet show [--name NAME] [--hotkey NAME] [options]",
  about: "Without --hotkey it shows the hotkey called default, or the wallet's only one.",
  examples: ["iota wallet show --name miner", "iota wallet show --name miner --hotkey second --json"],
  options: [nameOption, hotkeyOption, walletPathOption],
  rights: { read: "any", env: "any" },
  async run(context) {
    const wallet = context.options.text("name") ?? "default";
    const view = await viewOf(context, wallet);
    const coldkey = view === null || view.coldkey.state === "absent" ? {} : await coldkeyFields(context, view);
    const hotkeys = view?.hotkeys.map(({ name }) => name) ?? [];
    if (view !== null && hotkeys.length === 0 && !context.options.given("hotkey")) {
      context.output.summary({ wallet, ...coldkey, path: view.path });
      return 0;
    }
    const { pair, place, path } = await openHotkeyOf(context, wallet);
    const publicKey = `0x${pair.publicKey.toHex()}`;
    const others = hotkeys.length > 1 ? { hotkeys } : {};
    context.output.summary({
      wallet,
      hotkey: place.hotkey,
      address: pair.address,
      publicKey,
      path,
      ...coldkey,
      ...others,
    });
    return 0;
  },
};

/** In the folder that holds its hotkey, otherwise in the one that has its coldkey. */
async function viewOf(context: CommandContext, wallet: string): Promise<ListedWallet | null> {
  const { viewWallet } = await import("../../chain/wallet/wallet_list.ts");
  const place = await findHotkey(context, wallet);
  return await explaining(place, async () => await viewWallet(place)) ??
    await explaining(place, async () => await viewWallet(await findColdkey(context, wallet)));
}

async function coldkeyFields(context: CommandContext, { coldkey, path }: ListedWallet) {
  if (coldkey.problem !== null) context.output.log.warn(coldkey.problem);
  const { isOpenToOthers } = await import("../../chain/wallet/key_disk.ts");
  const file = `${path}/coldkey`;
  const isHere = coldkey.state === "encrypted" || coldkey.state === "plain";
  if (isHere && await isOpenToOthers(file)) warnOfOthers(context, file);
  return { coldkey: coldkey.address ?? "unknown", coldkeyState: coldkey.state };
}
