/**
 * Shared by `wallet new`, `import` and `regen`: where a key goes, a coldkey (encrypted unless asked otherwise) or a
 * hotkey (always plain), and storing it there.
 */

import type { KeyMaterial } from "../../chain/wallet/key_material.ts";
import type { HotkeyPlace, WalletPlace } from "../../chain/wallet/wallet_place.ts";
import type { CommandContext, OptionSpec } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import {
  givenPasswordOption,
  passwordOptions,
  readPassword,
  refuseIdlePassword,
} from "../terminal/options/secret_input.ts";
import { explaining, foldersOf, hotkeyOption, walletPathOption } from "../terminal/options/wallet_options.ts";

export const nameOption: OptionSpec = {
  name: "name",
  kind: "string",
  placeholder: "NAME",
  default: "default",
  doc: "the wallet",
};

export const coldkeyFlag: OptionSpec = {
  name: "coldkey",
  kind: "boolean",
  doc: "use the wallet's coldkey instead of a hotkey",
};

export const storeOptions: readonly OptionSpec[] = [
  nameOption,
  hotkeyOption,
  coldkeyFlag,
  walletPathOption,
  ...passwordOptions,
  { name: "no-password", kind: "boolean", doc: "store the coldkey unencrypted: anyone who reads the file owns it" },
  { name: "overwrite", kind: "boolean", doc: "replace a key of that name permanently" },
];

export type KeyPlace = WalletPlace | HotkeyPlace;

/** `opensFile`: a password may open the file that the key comes from. */
export function targetOf(context: CommandContext, { opensFile = false }: { opensFile?: boolean } = {}): KeyPlace {
  const { options } = context;
  const isColdkey = options.flag("coldkey");
  if (isColdkey && options.given("hotkey")) {
    throw new UsageError(
      "--hotkey and --coldkey exclude each other: a wallet's coldkey belongs to no hotkey",
      {
        next: "Leave one of them out",
      },
    );
  }
  if (!isColdkey && options.flag("no-password")) {
    throw new UsageError("--no-password needs --coldkey: hotkeys are never encrypted here", {
      next: "Leave --no-password out, or create a coldkey with --coldkey",
    });
  }
  if (!isColdkey && !opensFile) refuseIdlePassword(context, "hotkeys are never encrypted here");
  if (options.flag("no-password") && givenPasswordOption(context) !== null) {
    throw new UsageError("--no-password and a password exclude each other", {
      next: "Leave one of them out",
    });
  }
  const place = { folder: foldersOf(context)[0]!, wallet: options.text("name") ?? "default" };
  return isColdkey ? place : { ...place, hotkey: options.text("hotkey") ?? "default" };
}

interface Storing {
  readonly place: KeyPlace;
  readonly key: KeyMaterial;
  readonly password?: string | null;
}

interface StoredKey {
  readonly wallet: string;
  readonly hotkey?: string;
  readonly key: "hotkey" | "coldkey";
  readonly address: string;
  readonly path: string;
  readonly isEncrypted: boolean;
}

export async function storeKey(context: CommandContext, { place, key, password }: Storing): Promise<StoredKey> {
  const overwrite = context.options.flag("overwrite");
  const address = key.pair.address;
  if ("hotkey" in place) {
    const { saveHotkey } = await import("../../chain/wallet/hotkey_files.ts");
    const path = await explaining(place, () => saveHotkey(place, { key, overwrite }));
    return { wallet: place.wallet, hotkey: place.hotkey, key: "hotkey", address, path, isEncrypted: false };
  }
  const { saveColdkey } = await import("../../chain/wallet/coldkey_files.ts");
  const isPlain = context.options.flag("no-password");
  const sealing = isPlain ? null : () => newPassword(context, { wallet: place.wallet, known: password ?? null });
  const path = await explaining(place, () => saveColdkey(place, { key, password: sealing, overwrite }));
  return { wallet: place.wallet, key: "coldkey", address, path, isEncrypted: !isPlain };
}

async function newPassword(
  context: CommandContext,
  { wallet, known }: { wallet: string; known: string | null },
): Promise<string> {
  const question = `New password of coldkey ${wallet}`;
  const password = known ?? await readPassword(context, { question, isNew: true });
  context.output.log.info("encrypting the coldkey; this takes about 8 s and 512 MiB");
  return password;
}
