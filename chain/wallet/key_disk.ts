/**
 * Key files: temporary file → fsync → link or rename → fsync of the folder, mode 0600 in folders of mode 0700. A hard
 * link fails if the name exists, so two processes cannot create the same key; only overwriting renames. Rejects files
 * far too large for a key.
 */

import { WalletError } from "./wallet_error.ts";
import { assert } from "../../core/assert.ts";

const maxFileBytes = 64 * 1024;
const refusedCodes: readonly unknown[] = ["EACCES", "EPERM", "EROFS", "ENOTSUP", "EOPNOTSUPP"];
const fullCodes: readonly unknown[] = ["ENOSPC", "EDQUOT"];

export async function keyFileExists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw fileError(error, path);
  }
}

/** Null if the system does not say. */
export async function isOpenToOthers(path: string): Promise<boolean | null> {
  const { mode } = await Deno.stat(path);
  return mode === null ? null : (mode & 0o077) !== 0;
}

export async function readKeyFile(path: string): Promise<Uint8Array> {
  try {
    const { size, isFile } = await Deno.stat(path);
    if (!isFile || size > maxFileBytes) {
      const found = isFile ? `${size} bytes` : "not a file";
      throw new WalletError(
        "malformed",
        `Cannot use ${path}: a key is a file of at most 64 KiB, and this is ${found}`,
      );
    }
    return await Deno.readFile(path);
  } catch (error) {
    throw fileError(error, path);
  }
}

interface KeyFile {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly overwrite: boolean;
}

export async function writeKeyFile({ path, bytes, overwrite }: KeyFile): Promise<void> {
  const nameAt = path.lastIndexOf("/") + 1;
  const folder = path.slice(0, nameAt - 1);
  const temporary = `${folder}/.${path.slice(nameAt)}.${crypto.randomUUID()}`;
  let isLeftOver = false;
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    isLeftOver = true;
    await writeWhole(temporary, bytes);
    if (overwrite) await Deno.rename(temporary, path);
    else await Deno.link(temporary, path);
    isLeftOver = !overwrite;
  } catch (error) {
    throw fileError(error, path);
  } finally {
    if (isLeftOver) await removeIfThere(temporary);
  }
  await syncFolder(folder);
  const stored = await readKeyFile(path); // never report an address whose key is not on disk
  assert(stored.toHex() === bytes.toHex(), "A key file holds what was written to it");
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
  for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
  await file.sync();
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return; // folders cannot be opened there
  using folder = await Deno.open(path, { read: true });
  await folder.sync();
}

export function fileError(error: unknown, path: string): unknown {
  if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
    return new WalletError("missing", `Cannot load a key: there is no file at ${path}`);
  }
  if (error instanceof Deno.errors.AlreadyExists) return existsError(path);
  if (!(error instanceof Error)) return error;
  if (fullCodes.includes(errorCode(error))) {
    return new WalletError("diskFull", `Cannot write ${path}: the disk is full`);
  }
  if (refusedCodes.includes(errorCode(error))) {
    return new WalletError("unreadable", `Cannot open ${path} as the system refuses: ${error.message}`);
  }
  return error;
}

export function existsError(path: string): WalletError {
  return new WalletError(
    "exists",
    `Cannot write a key: ${path} exists, and keys are never overwritten`,
  );
}

function errorCode(error: Error): unknown {
  return (error as Error & { code?: unknown }).code;
}
