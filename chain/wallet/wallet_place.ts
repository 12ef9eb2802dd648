/**
 * Paths in the layout of Bittensor's tools: `<folder>/<wallet>/{coldkey, coldkeypub.txt, hotkeys/<hotkey>,
 * hotkeys/<hotkey>pub.txt}`.
 */

import { WalletError } from "./wallet_error.ts";

export interface WalletPlace {
  readonly folder: string; // usually ~/.bittensor/wallets
  readonly wallet: string;
}

export interface HotkeyPlace extends WalletPlace {
  readonly hotkey: string;
}

export const publicSuffix = "pub.txt";

export function walletPath({ folder, wallet }: WalletPlace): string {
  return `${folder}/${checkName("wallet", wallet)}`;
}

export function coldkeyPath(place: WalletPlace): string {
  return `${walletPath(place)}/coldkey`;
}

export function coldkeyPublicPath(place: WalletPlace): string {
  return `${coldkeyPath(place)}${publicSuffix}`;
}

export function hotkeysPath(place: WalletPlace): string {
  return `${walletPath(place)}/hotkeys`;
}

export function hotkeyPath(place: HotkeyPlace): string {
  return `${hotkeysPath(place)}/${checkName("hotkey", place.hotkey)}`;
}

export function hotkeyPublicPath(place: HotkeyPlace): string {
  return `${hotkeyPath(place)}${publicSuffix}`;
}

/** A leading dot marks files being written. */
export function isFileName(name: string): boolean {
  return name !== "" && name.length <= 100 && !name.startsWith(".") && !/[/\\\p{Cc}]/u.test(name);
}

function checkName(kind: "wallet" | "hotkey", name: string): string {
  const shown = JSON.stringify(name.slice(0, 40));
  if (!isFileName(name)) {
    throw new WalletError(
      "badName",
      `Cannot use a ${kind} name as it must be a plain file name without a leading dot: current value is ${shown}`,
    );
  }
  if (kind === "hotkey" && name.endsWith(publicSuffix)) {
    throw new WalletError(
      "badName",
      `Cannot use a hotkey name as it must not end as the public files do, with ${publicSuffix}: current value is ${shown}`,
    );
  }
  return name;
}
