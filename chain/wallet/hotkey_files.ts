/**
 * Hotkeys on disk, unencrypted, because nodes sign with them continuously. Refuses encrypted ones, the wallet's
 * coldkey, and overwriting unless requested.
 */

import type { HotkeyPair } from "./hotkey.ts";
import { requireNoColdkey } from "./coldkey_check.ts";
import { isOpenToOthers, keyFileExists } from "./key_disk.ts";
import { readPlainKeyFile, writeKeyFiles } from "./key_files.ts";
import { type KeyMaterial, newKeyMaterial } from "./key_material.ts";
import { keyfileText, keyOfKeyfile } from "./keyfile.ts";
import { hotkeyPath, type HotkeyPlace, hotkeyPublicPath } from "./wallet_place.ts";
import { assert, present } from "../../core/assert.ts";

interface CreatedHotkey {
  readonly pair: HotkeyPair;
  readonly path: string;
  readonly mnemonic: string; // shown once
}

export async function hotkeyExists(place: HotkeyPlace): Promise<boolean> {
  return await keyFileExists(hotkeyPath(place));
}

/** Null if the system does not say. */
export async function othersMayRead(place: HotkeyPlace): Promise<boolean | null> {
  return await isOpenToOthers(hotkeyPath(place));
}

export async function loadHotkey(place: HotkeyPlace): Promise<HotkeyPair> {
  const path = hotkeyPath(place);
  const { pair } = keyOfKeyfile(await readPlainKeyFile(path), path);
  await requireNoColdkey(place, pair.publicKey);
  return pair;
}

export async function createHotkey(place: HotkeyPlace): Promise<CreatedHotkey> {
  const key = newKeyMaterial();
  const path = await saveHotkey(place, { key });
  return { pair: key.pair, path, mnemonic: present(key.revealMnemonic(), "A new key has a phrase") };
}

export async function saveHotkey(
  place: HotkeyPlace,
  { key, overwrite = false }: { key: KeyMaterial; overwrite?: boolean },
): Promise<string> {
  const path = hotkeyPath(place);
  await requireNoColdkey(place, key.pair.publicKey);
  await writeKeyFiles({
    path,
    publicPath: hotkeyPublicPath(place),
    publicKey: key.pair.publicKey,
    overwrite,
    seal: () => Promise.resolve(new TextEncoder().encode(keyfileText(key))),
  });
  const stored = await loadHotkey(place);
  assert(stored.address === key.pair.address, "A new hotkey file gives the key it was made from");
  return path;
}
