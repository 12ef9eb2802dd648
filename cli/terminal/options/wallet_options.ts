/**
 * The options that name a wallet, and opening its key. A node never opens a coldkey: only paying commands take
 * `coldkeyOptions`.
 */

import type { ChainSigner } from "../../../chain/call.ts";
import type { HotkeyPair } from "../../../chain/wallet/hotkey.ts";
import { WalletError } from "../../../chain/wallet/wallet_error.ts";
import type { HotkeyPlace, WalletPlace } from "../../../chain/wallet/wallet_place.ts";
import type { CommandContext, OptionSpec } from "../command.ts";
import { UserError } from "../../program/errors.ts";
import { walletFolders } from "../../program/paths.ts";
import { passwordOptions, readPassword, warnOfIdlePassword } from "./secret_input.ts";
import { shellWord } from "../../program/shell_words.ts";

export const hotkeyOption: OptionSpec = {
  name: "hotkey",
  kind: "string",
  placeholder: "NAME",
  default: "default",
  doc: "the wallet's hotkey",
};

export const walletPathOption: OptionSpec = {
  name: "wallet-path",
  kind: "string",
  placeholder: "DIR",
  defaultText: "DIR/wallets with --data DIR, then ~/.bittensor/wallets",
  doc: "the folder of all wallets",
};

const walletOption: OptionSpec = {
  name: "wallet",
  kind: "string",
  placeholder: "NAME",
  default: "default",
  doc: "the wallet whose hotkey signs for this node",
};

export const walletOptions: readonly OptionSpec[] = [walletOption, hotkeyOption, walletPathOption];

export const coldkeyOptions: readonly OptionSpec[] = [
  { ...walletOption, doc: "the wallet whose coldkey pays" },
  walletPathOption,
  ...passwordOptions,
];

interface OpenedHotkey {
  readonly pair: HotkeyPair;
  readonly place: HotkeyPlace;
  readonly path: string;
}

export async function openHotkey(context: CommandContext): Promise<HotkeyPair> {
  return (await openHotkeyOf(context, context.options.text("wallet") ?? "default")).pair;
}

export async function openHotkeyOf(context: CommandContext, wallet: string): Promise<OpenedHotkey> {
  const { loadHotkey, othersMayRead } = await import("../../../chain/wallet/hotkey_files.ts");
  const { hotkeyPath } = await import("../../../chain/wallet/wallet_place.ts");
  const place = await findHotkey(context, wallet);
  return await explaining(place, async () => {
    const pair = await loadHotkey(place);
    const path = hotkeyPath(place);
    if (await othersMayRead(place)) warnOfOthers(context, path);
    return { pair, place, path };
  });
}

/** Asks for the password; takes 6 to 8 s and 512 MiB. */
export async function openColdkeySigner(context: CommandContext): Promise<ChainSigner> {
  return await openColdkeyOf(context, context.options.text("wallet") ?? "default");
}

export async function openColdkeyOf(context: CommandContext, wallet: string): Promise<ChainSigner> {
  const { coldkeyIsOpenToOthers, openColdkey } = await import("../../../chain/wallet/coldkey_files.ts");
  const { coldkeyPath } = await import("../../../chain/wallet/wallet_place.ts");
  const place = await findColdkey(context, wallet);
  return await explaining(place, async () => {
    let isSealed = false;
    const password = async () => {
      isSealed = true;
      const given = await readPassword(context, { question: `Password of coldkey ${wallet}`, isNew: false });
      context.output.log.info("opening the coldkey; this takes about 8 s and 512 MiB");
      return given;
    };
    const signer = await openColdkey(place, { password });
    if (!isSealed) warnOfIdlePassword(context, `${coldkeyPath(place)} is not encrypted: anyone who reads it owns it`);
    if (await coldkeyIsOpenToOthers(place)) warnOfOthers(context, coldkeyPath(place));
    return signer;
  });
}

/** In search order; new keys go into the first. */
export function foldersOf({ environment, options }: CommandContext): string[] {
  return walletFolders(environment, { explicit: options.text("wallet-path"), data: options.text("data") });
}

export function hotkeyFolders(context: CommandContext): string[] {
  const wallet = context.options.text("wallet") ?? "default";
  return foldersOf(context).map((folder) => `${folder}/${wallet}/hotkeys`);
}

/**
 * The first folder that holds the hotkey, otherwise the first, so that errors name it. Without --hotkey and a hotkey
 * called default, a wallet's only hotkey is taken.
 */
export async function findHotkey(context: CommandContext, wallet: string): Promise<HotkeyPlace> {
  const { hotkeyExists } = await import("../../../chain/wallet/hotkey_files.ts");
  const { listHotkeys } = await import("../../../chain/wallet/wallet_list.ts");
  const hotkey = context.options.text("hotkey") ?? "default";
  const places = foldersOf(context).map((folder) => ({ folder, wallet, hotkey }));
  return await explaining(places[0]!, async () => {
    for (const place of places) {
      if (await hotkeyExists(place)) return place;
    }
    if (context.options.given("hotkey")) return places[0]!;
    for (const place of places) {
      const names = await listHotkeys(place);
      if (names.length === 1) return { ...place, hotkey: names[0]! };
      if (names.length > 1) {
        throw new UserError(
          `Cannot choose a hotkey: wallet ${wallet} has several, none of them called default: ${names.join(", ")}`,
          { next: `Name it: --hotkey ${names[0]}` },
        );
      }
    }
    return places[0]!;
  });
}

/** Null: it exists. */
export async function missingHotkey(place: HotkeyPlace): Promise<UserError | null> {
  const { hotkeyExists } = await import("../../../chain/wallet/hotkey_files.ts");
  const { hotkeyPath } = await import("../../../chain/wallet/wallet_place.ts");
  if (await explaining(place, () => hotkeyExists(place))) return null;
  const error = new WalletError("missing", `there is no hotkey at ${hotkeyPath(place)}`);
  return new UserError(error.message, { next: nextStep(error, place), cause: error });
}

/** The first folder with the coldkey, otherwise with its public half, otherwise the first. */
export async function findColdkey(context: CommandContext, wallet: string): Promise<WalletPlace> {
  const { keyFileExists } = await import("../../../chain/wallet/key_disk.ts");
  const { coldkeyPath, coldkeyPublicPath } = await import("../../../chain/wallet/wallet_place.ts");
  const places = foldersOf(context).map((folder) => ({ folder, wallet }));
  return await explaining(places[0]!, async () => {
    for (const pathOf of [coldkeyPath, coldkeyPublicPath]) {
      for (const place of places) {
        if (await keyFileExists(pathOf(place))) return place;
      }
    }
    return places[0]!;
  });
}

export function warnOfOthers({ output }: CommandContext, path: string): void {
  output.log.warn(`Other users of this machine can read your key: chmod 600 '${path}'`);
}

/** Turns a wallet's failure into a UserError. A place without a hotkey is the coldkey's. */
export async function explaining<T>(place: WalletPlace | HotkeyPlace, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof WalletError)) throw error;
    throw new UserError(error.message, { next: nextStep(error, place), cause: error });
  }
}

function nextStep(error: WalletError, place: WalletPlace | HotkeyPlace): string {
  const { wallet } = place;
  const hotkey = "hotkey" in place ? place.hotkey : null;
  const isUsual = place.folder.endsWith("/.bittensor/wallets");
  const at = isUsual ? "" : ` --wallet-path ${shellWord(place.folder)}`;
  const key = hotkey === null ? " --coldkey" : hotkey === "default" ? "" : ` --hotkey ${shellWord(hotkey)}`;
  const named = `--name ${shellWord(wallet)}${key}${at}`;
  switch (error.code) {
    case "missing":
      return `Make one: iota wallet new ${named}`;
    case "exists":
      return `Use it as it is (iota wallet show --name ${
        shellWord(wallet)
      }${at}), choose another name, or replace it permanently: --overwrite`;
    case "encrypted":
      return `If it is a hotkey, make a plain copy for this node: iota wallet import FILE --name ${
        shellWord(wallet)
      } --hotkey NAME${at}`;
    case "oldEncryption":
      return "Convert it with Bittensor's own package (bittensor_wallet.Keyfile(FILE).check_and_update_encryption()), " +
        `or restore it from its mnemonic: iota wallet regen ${named} --overwrite`;
    case "wrongPassword":
      return "Type it again, or pass the right one with --password-file FILE";
    case "coldkey":
      return `Move the file out of hotkeys, then make a hotkey: iota wallet new --name ${shellWord(wallet)}${at}`;
    case "malformed":
    case "mismatch":
      return `Make it again from its mnemonic: iota wallet regen ${named} --overwrite`;
    case "badName":
      return "Pass a name without slashes, such as --name miner";
    case "diskFull":
      return "Free some space, or pass a folder on another disk with --wallet-path DIR";
    case "unreadable":
      return "Change the folder's permissions, or pass another one with --wallet-path DIR";
  }
}
