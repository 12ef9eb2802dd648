/**
 * Hotkeys on disk: plain files, since a node signs with them day and night.
 *
 * Owns: loading and making them, each with its public file. Refuses: encrypted ones, and overwriting unless asked to. Secrets
 * leave this folder only inside `HotkeyPair` and `KeyMaterial`.
 */

import type { HotkeyPair } from "./hotkey.ts";
import { isOpenToOthers, keyFileExists } from "./key_disk.ts";
import { readPlainKeyFile, writeKeyFiles } from "./key_files.ts";
import { type KeyMaterial, newKeyMaterial } from "./key_material.ts";
import { keyfileText, keyOfKeyfile } from "./keyfile.ts";
import { hotkeyPath, type HotkeyPlace, hotkeyPublicPath } from "./wallet_place.ts";
import { assert, present } from "../../core/assert.ts";

export interface CreatedHotkey {
  readonly pair: HotkeyPair;
  readonly path: string;
  readonly mnemonic: string; // to be shown to its owner once
}

export async function hotkeyExists(place: HotkeyPlace): Promise<boolean> {
  return await keyFileExists(hotkeyPath(place));
}

/** Whether other users of this machine may read the file; null where the system does not tell. */
export async function othersMayRead(place: HotkeyPlace): Promise<boolean | null> {
  return await isOpenToOthers(hotkeyPath(place));
}

export async function loadHotkey(place: HotkeyPlace): Promise<HotkeyPair> {
  const path = hotkeyPath(place);
  return keyOfKeyfile(await readPlainKeyFile(path), path).pair;
}

export async function createHotkey(place: HotkeyPlace): Promise<CreatedHotkey> {
  const key = newKeyMaterial();
  const path = await saveHotkey(place, { key });
  return { pair: key.pair, path, mnemonic: present(key.revealMnemonic(), "A new key has a phrase") };
}

/** Returns the path of the private file. */
export async function saveHotkey(
  place: HotkeyPlace,
  { key, overwrite = false }: { key: KeyMaterial; overwrite?: boolean },
): Promise<string> {
  const path = hotkeyPath(place);
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
