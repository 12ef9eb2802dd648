/**
 * The options that name a hotkey, and the way from them to a key pair: shared by every command that signs.
 *
 * Owns: --wallet, --hotkey, --wallet-path, where they look, and the next step for each way a wallet can fail.
 */

import type { HotkeyPair } from "../chain/wallet/hotkey.ts";
import type { HotkeyPlace } from "../chain/wallet/hotkey_files.ts";
import { WalletError } from "../chain/wallet/wallet_error.ts";
import type { CommandContext, OptionSpec } from "./command.ts";
import { UserError } from "./errors.ts";
import { walletFolders } from "./paths.ts";

export const hotkeyOption: OptionSpec = {
  name: "hotkey",
  kind: "string",
  placeholder: "NAME",
  default: "default",
  doc: "the hotkey of the wallet",
};

export const walletPathOption: OptionSpec = {
  name: "wallet-path",
  kind: "string",
  placeholder: "DIR",
  defaultText: "DIR/wallets with --data DIR, then ~/.bittensor/wallets",
  doc: "the folder of all wallets",
};

export const walletOptions: readonly OptionSpec[] = [
  {
    name: "wallet",
    kind: "string",
    placeholder: "NAME",
    default: "default",
    doc: "the wallet whose hotkey signs for this node",
  },
  hotkeyOption,
  walletPathOption,
];

export interface OpenedHotkey {
  readonly pair: HotkeyPair;
  readonly path: string;
}

/** Loads the hotkey that `walletOptions` name; every failure is a UserError with its next step. */
export async function openHotkey(context: CommandContext): Promise<HotkeyPair> {
  return (await openHotkeyOf(context, context.options.text("wallet") ?? "default")).pair;
}

export async function openHotkeyOf(context: CommandContext, wallet: string): Promise<OpenedHotkey> {
  const { hotkeyPath, loadHotkey, othersMayRead } = await import("../chain/wallet/hotkey_files.ts");
  const place = await findHotkey(context, wallet);
  try {
    const pair = await loadHotkey(place);
    const path = hotkeyPath(place);
    if (await othersMayRead(place)) {
      context.output.log.warn(`Other users of this machine can read your hotkey: chmod 600 '${path}'`);
    }
    return { pair, path };
  } catch (error) {
    throw explainWallet(error, place);
  }
}

/** The first folder that holds the hotkey; where none does, the first one, so that errors and new keys name it. */
async function findHotkey(context: CommandContext, wallet: string): Promise<HotkeyPlace> {
  const { hotkeyExists } = await import("../chain/wallet/hotkey_files.ts");
  const folders = walletFolders(context.environment, {
    explicit: context.options.text("wallet-path"),
    data: context.options.text("data"),
  });
  const hotkey = context.options.text("hotkey") ?? "default";
  const places = folders.map((folder) => ({ folder, wallet, hotkey }));
  try {
    for (const place of places) {
      if (await hotkeyExists(place)) return place;
    }
  } catch (error) {
    throw explainWallet(error, places[0]!);
  }
  return places[0]!;
}

export function explainWallet(error: unknown, place: HotkeyPlace): unknown {
  if (!(error instanceof WalletError)) return error;
  return new UserError(error.message, { next: nextStep(error, place), cause: error });
}

function nextStep(error: WalletError, { wallet, hotkey }: HotkeyPlace): string {
  const named = `--name ${wallet}${hotkey === "default" ? "" : ` --hotkey ${hotkey}`}`;
  switch (error.code) {
    case "missing":
      return `Make one: iota wallet new ${named}`;
    case "exists":
      return `Use it as it is (iota wallet show ${named}), or pick another name with --hotkey NAME`;
    case "encrypted":
      return `Make a plaintext hotkey for this node: iota wallet new --name ${wallet} --hotkey NAME`;
    case "malformed":
    case "mismatch":
      return `Restore the file from its mnemonic, or make another: iota wallet new --name ${wallet} --hotkey NAME`;
    case "badName":
      return "Pass a name without slashes, such as --name miner";
    case "unreadable":
      return "Change the rights of the folder, or pass another one with --wallet-path DIR";
  }
}
