/**
 * Refuses coldkeys among the hotkeys, because hotkey files are not encrypted. Only development accounts, such as
 * //Alice, may be both.
 */

import { readPublicKey } from "./key_files.ts";
import { keyOfSecretUri } from "./secret_uri.ts";
import { WalletError } from "./wallet_error.ts";
import { coldkeyPublicPath, hotkeyPath, type HotkeyPlace } from "./wallet_place.ts";

const developmentNames = ["Alice", "Bob", "Charlie", "Dave", "Eve", "Ferdie"]; // Substrate's

export async function requireNoColdkey(place: HotkeyPlace, publicKey: Uint8Array): Promise<void> {
  const coldkey = await namedColdkey(place);
  if (coldkey?.toHex() !== publicKey.toHex() || isDevelopmentKey(publicKey)) return;
  throw new WalletError(
    "coldkey",
    `Cannot use ${hotkeyPath(place)} as a hotkey: it is the coldkey of wallet ${place.wallet}, which owns its stake`,
  );
}

async function namedColdkey(place: HotkeyPlace): Promise<Uint8Array | null> {
  try {
    return await readPublicKey(coldkeyPublicPath(place));
  } catch (error) {
    if (error instanceof WalletError) return null;
    throw error;
  }
}

const isDevelopmentKey = (publicKey: Uint8Array): boolean =>
  developmentNames.some((name) => keyOfSecretUri(`//${name}`)?.pair.publicKey.toHex() === publicKey.toHex());
