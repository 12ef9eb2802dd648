/**
 * Hotkeys on disk, where Bittensor's own tools keep them: `<folder>/<wallet>/hotkeys/<hotkey>`.
 *
 * Owns: the paths, reading, and writing of new files (mode 0600 in folders of mode 0700). Refuses: overwriting any file,
 * names that would leave the folder, files far too large for a key. Secrets leave this folder only inside `HotkeyPair`,
 * and the phrase of a new key once, in `createHotkey`'s result.
 */

import { hotkeyOfMiniSecret, type HotkeyPair, selfTest } from "./hotkey.ts";
import { hotkeyOfKeyfile, keyfileText } from "./keyfile.ts";
import { miniSecretOfMnemonic, newMnemonic } from "./mnemonic.ts";
import { WalletError } from "./wallet_error.ts";
import { assert, present } from "../../core/assert.ts";

const maxFileBytes = 64 * 1024;
const refusedCodes: readonly unknown[] = ["EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT"];

export interface HotkeyPlace {
  readonly folder: string; // of all wallets, usually ~/.bittensor/wallets
  readonly wallet: string;
  readonly hotkey: string;
}

export interface CreatedHotkey {
  readonly pair: HotkeyPair;
  readonly path: string;
  readonly mnemonic: string; // to be shown to its owner once
}

export function hotkeyPath({ folder, wallet, hotkey }: HotkeyPlace): string {
  return `${folder}/${checkName("wallet", wallet)}/hotkeys/${checkName("hotkey", hotkey)}`;
}

export async function hotkeyExists(place: HotkeyPlace): Promise<boolean> {
  const path = hotkeyPath(place);
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw fileError(error, path);
  }
}

/** Whether other users of this machine may read the file; null where the system does not tell. */
export async function othersMayRead(place: HotkeyPlace): Promise<boolean | null> {
  const { mode } = await Deno.stat(hotkeyPath(place));
  return mode === null ? null : (mode & 0o077) !== 0;
}

export async function loadHotkey(place: HotkeyPlace): Promise<HotkeyPair> {
  const path = hotkeyPath(place);
  const pair = hotkeyOfKeyfile(await readSmallFile(path), path);
  if (!selfTest(pair)) {
    throw new WalletError("mismatch", `Cannot use ${path} as its key must verify its own signature: it does not`);
  }
  return pair;
}

export async function createHotkey(place: HotkeyPlace): Promise<CreatedHotkey> {
  const path = hotkeyPath(place);
  const mnemonic = newMnemonic();
  const miniSecret = present(miniSecretOfMnemonic(mnemonic), "A new mnemonic is valid");
  const pair = hotkeyOfMiniSecret(miniSecret);
  assert(selfTest(pair), "A new hotkey verifies its own signature");
  await writeNewFile(path, keyfileText({ pair, mnemonic, miniSecret }));
  const stored = await loadHotkey(place); // nobody is told an address whose key is not on disk
  assert(stored.address === pair.address, "A new hotkey file gives the key it was made from");
  return { pair, path, mnemonic };
}

async function readSmallFile(path: string): Promise<string> {
  try {
    const { size, isFile } = await Deno.stat(path);
    if (!isFile || size > maxFileBytes) {
      const found = isFile ? `${size} bytes` : "not a file";
      throw new WalletError(
        "malformed",
        `Cannot use ${path} as a hotkey must be a file of at most 64 KiB: it is ${found}`,
      );
    }
    return await Deno.readTextFile(path);
  } catch (error) {
    throw fileError(error, path);
  }
}

async function writeNewFile(path: string, text: string): Promise<void> {
  let created = false;
  try {
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true, mode: 0o700 });
    using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    created = true;
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(await file.write(rest));
    await file.sync();
  } catch (error) {
    if (created) await Deno.remove(path); // a half-written key is worse than none
    throw fileError(error, path);
  }
}

function fileError(error: unknown, path: string): unknown {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
    return new WalletError("missing", `Cannot load a hotkey as its file must exist: there is none at ${path}`);
  }
  if (error instanceof Deno.errors.AlreadyExists) {
    return new WalletError(
      "exists",
      `Cannot make a new hotkey as an existing one is never overwritten: ${path} is there`,
    );
  }
  if (error instanceof Error && refusedCodes.includes(errorCode(error))) {
    return new WalletError("unreadable", `Cannot open ${path} as the system refuses access: ${error.message}`);
  }
  return error;
}

function errorCode(error: Error): unknown {
  return (error as Error & { code?: unknown }).code;
}

function checkName(kind: "wallet" | "hotkey", name: string): string {
  const fine = name !== "" && name !== "." && name !== ".." && name.length <= 100 && !/[/\\\p{Cc}]/u.test(name);
  if (fine) return name;
  const shown = JSON.stringify(name.slice(0, 40));
  throw new WalletError(
    "badName",
    `Cannot use a ${kind} name as it must be a plain file name: current value is ${shown}`,
  );
}
