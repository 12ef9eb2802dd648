/**
 * Lists wallets by their public halves. A wallet is a folder with a coldkey file, a coldkeypub.txt or a hotkeys folder.
 * Unreadable files are listed with the reason.
 */

import { requireNoColdkey } from "./coldkey_check.ts";
import { type ColdkeyState, viewColdkey } from "./coldkey_files.ts";
import { fileError } from "./key_disk.ts";
import { readPlainKeyFile, readPublicKey } from "./key_files.ts";
import { keyOfKeyfile, publicKeyOfKeyfile } from "./keyfile.ts";
import { encodeAddress } from "./ss58.ts";
import { WalletError } from "./wallet_error.ts";
import { hotkeyPath, type HotkeyPlace, hotkeyPublicPath, hotkeysPath, isFileName } from "./wallet_place.ts";
import { publicSuffix, walletPath, type WalletPlace } from "./wallet_place.ts";

interface ListedKey {
  readonly address: string | null;
  readonly problem: string | null; // why there is no address
}

interface ListedHotkey extends ListedKey {
  readonly name: string;
}

interface ListedColdkey extends ListedKey {
  readonly state: ColdkeyState | "unreadable";
}

export interface ListedWallet {
  readonly name: string;
  readonly path: string;
  readonly coldkey: ListedColdkey;
  readonly hotkeys: readonly ListedHotkey[];
}

export async function listWallets(folder: string): Promise<ListedWallet[]> {
  const wallets: ListedWallet[] = [];
  for (const wallet of await namesIn(folder)) {
    const listed = await viewWallet({ folder, wallet });
    if (listed !== null) wallets.push(listed);
  }
  return wallets;
}

export async function viewWallet(place: WalletPlace): Promise<ListedWallet | null> {
  const names = await listHotkeys(place);
  const hotkeys = await Promise.all(names.map((hotkey) => listedHotkey({ ...place, hotkey })));
  const coldkey = await listedColdkey(place);
  if (coldkey.state === "absent" && hotkeys.length === 0) return null;
  return { name: place.wallet, path: walletPath(place), coldkey, hotkeys };
}

export async function listHotkeys(place: WalletPlace): Promise<string[]> {
  return (await namesIn(hotkeysPath(place))).filter((name) => !name.endsWith(publicSuffix));
}

/** The private file may be encrypted. */
export async function hotkeyAddress(place: HotkeyPlace): Promise<string> {
  const publicKey = await readPublicKey(hotkeyPublicPath(place)) ?? await keyInPlainFile(hotkeyPath(place));
  await requireNoColdkey(place, publicKey);
  return encodeAddress(publicKey);
}

async function keyInPlainFile(path: string): Promise<Uint8Array> {
  const text = await readPlainKeyFile(path);
  const isJson = text.trimStart().startsWith("{");
  return isJson ? publicKeyOfKeyfile(text, path) : keyOfKeyfile(text, path).pair.publicKey;
}

async function listedColdkey(place: WalletPlace): Promise<ListedColdkey> {
  const view = await settled(() => viewColdkey(place));
  if (view instanceof WalletError) return { state: "unreadable", address: null, problem: view.message };
  return { ...view, problem: null };
}

async function listedHotkey(place: HotkeyPlace): Promise<ListedHotkey> {
  const address = await settled(() => hotkeyAddress(place));
  const name = place.hotkey;
  return address instanceof WalletError
    ? { name, address: null, problem: address.message }
    : { name, address, problem: null };
}

async function settled<T>(read: () => Promise<T>): Promise<T | WalletError> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof WalletError) return error;
    throw error;
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (isFileName(name)) names.push(name);
    }
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return [];
    throw fileError(error, folder);
  }
  return names.sort();
}
