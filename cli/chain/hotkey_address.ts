/** The hotkey that a chain command is about: an address, or a wallet's public half. */

import type { Address } from "../../chain/call.ts";
import type { HotkeyPair } from "../../chain/wallet/hotkey.ts";
import type { CommandContext } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { explaining, findColdkey, findHotkey, openHotkey } from "../terminal/options/wallet_options.ts";

export async function hotkeyAddressOf(context: CommandContext): Promise<Address> {
  const { decodeAddress } = await import("../../chain/wallet/ss58.ts");
  const given = context.options.text("hotkey");
  if (given !== undefined && decodeAddress(given) !== null) return given;
  if (given !== undefined) refuseMistyped(given);
  const { hotkeyAddress } = await import("../../chain/wallet/wallet_list.ts");
  const place = await findHotkey(context, context.options.text("wallet") ?? "default");
  return await explaining(place, () => hotkeyAddress(place));
}

/** A word with an address's length and letters is a mistyped address, not a name. */
function refuseMistyped(given: string): void {
  if (!/^5[1-9A-HJ-NP-Za-km-z]{46,48}$/.test(given)) return;
  throw new UsageError(
    `The address '${given}' of --hotkey does not match its checksum: a letter is wrong or missing`,
    { next: "Copy the whole address, for example from: iota wallet list" },
  );
}

export async function signingHotkey(context: CommandContext): Promise<HotkeyPair> {
  const { decodeAddress } = await import("../../chain/wallet/ss58.ts");
  const given = context.options.text("hotkey");
  if (given !== undefined && decodeAddress(given) === null) refuseMistyped(given);
  if (given === undefined || decodeAddress(given) === null) return await openHotkey(context);
  throw new UsageError("Cannot sign with an address: --hotkey must name a hotkey of the wallet", {
    next: "Name it: --wallet NAME --hotkey NAME",
  });
}

/** True also for a public half whose coldkey is elsewhere. */
export async function walletHasColdkey(context: CommandContext): Promise<boolean> {
  const { viewColdkey } = await import("../../chain/wallet/coldkey_files.ts");
  const place = await findColdkey(context, context.options.text("wallet") ?? "default");
  return (await explaining(place, () => viewColdkey(place))).state !== "absent";
}

/** From coldkeypub.txt or a plain coldkey; null: neither. */
export async function coldkeyAddressOf(context: CommandContext): Promise<Address | null> {
  const { viewColdkey } = await import("../../chain/wallet/coldkey_files.ts");
  const place = await findColdkey(context, context.options.text("wallet") ?? "default");
  return (await explaining(place, () => viewColdkey(place))).address;
}
