/**
 * Disk operations for data that must survive a kill: every file appears whole or not at all.
 *
 * The order is temporary file → fsync → rename → fsync of the folder.
 */

import { attempting, systemCode } from "../program/errors.ts";

const pattern = /\.[0-9a-f]{12}\.partial$/;
const staleMs = 3_600_000; // an active writer writes more often

export function partialName(path: string): string {
  return `${path}.${crypto.randomUUID().slice(-12)}.partial`;
}

function finalName(path: string): string {
  return path.replace(pattern, "");
}

export function removeStalePartials(folder: string, nowMs: number = Date.now()): void {
  quietly(() => {
    for (const { name, isFile } of Deno.readDirSync(folder)) {
      if (!isFile || !pattern.test(name)) continue;
      const path = `${folder}/${name}`;
      quietly(() => {
        const { mtime } = Deno.statSync(path);
        if (mtime !== null && nowMs - mtime.getTime() > staleMs) Deno.removeSync(path);
      });
    }
  });
}

export function dropPartial(path: string): void {
  quietly(() => Deno.removeSync(path));
}

/** We may lack access to the folder, or another process may have been faster. */
function quietly(body: () => void): void {
  try {
    body();
  } catch (error) {
    if (!Object.values(Deno.errors).some((kind) => error instanceof kind)) throw error;
  }
}

export interface OpenFile {
  write(bytes: Uint8Array): Promise<void>;
  sync(): Promise<void>;
  close(): void;
}

export interface Disk {
  createFolder(path: string): Promise<void>;
  create(path: string): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, or a folder with its content; a missing one is not an error. */
  remove(path: string): Promise<void>;
  /** Makes renames and removals in the folder durable. */
  syncFolder(path: string): Promise<void>;
}

export const realDisk: Disk = {
  createFolder: (path) =>
    attempting({ action: "create the folder", value: path }, () => Deno.mkdir(path, { recursive: true })),
  create: (path) => attempting({ action: "write", value: finalName(path), creates: true }, () => openReal(path)),
  rename: (from, to) => attempting({ action: "write", value: to, creates: true }, () => Deno.rename(from, to)),
  remove: (path) => attempting({ action: "remove", value: path }, () => removeIfPresent(path)),
  syncFolder: (path) => attempting({ action: "write to the folder", value: path }, () => syncRealFolder(path)),
};

/** The file then holds either its old content or exactly these bytes. */
export async function writeAtomically(
  path: string,
  options: { disk: Disk; chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array> },
): Promise<void> {
  const { disk, chunks } = options;
  const folder = parentOf(path);
  const temporary = partialName(path);
  const file = await disk.create(temporary);
  try {
    try {
      for await (const chunk of chunks) await file.write(chunk);
      await file.sync();
    } finally {
      file.close();
    }
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.remove(temporary).catch(() => {/* what went wrong first is what counts */});
    throw error;
  }
  await disk.syncFolder(folder);
  removeStalePartials(folder);
}

export async function readIfPresent(path: string): Promise<Uint8Array<ArrayBuffer> | null> {
  return await isFile(path) ? await attempting({ action: "read", value: path }, () => Deno.readFile(path)) : null;
}

export async function isFile(path: string): Promise<boolean> {
  return (await statIfPresent(path))?.isFile ?? false;
}

export async function isFolder(path: string): Promise<boolean> {
  return (await statIfPresent(path))?.isDirectory ?? false;
}

/** A name too long, or links in a circle, lead to nothing either. */
const absences = new Set(["ENOENT", "ENOTDIR", "ENAMETOOLONG", "ELOOP"]);

function statIfPresent(path: string): Promise<Deno.FileInfo | null> {
  return attempting({ action: "read", value: path }, async () => {
    try {
      return await Deno.stat(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotADirectory || absences.has(systemCode(error))) return null;
      throw error;
    }
  });
}

export function parentOf(path: string): string {
  const end = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return end < 0 ? "." : path.slice(0, Math.max(end, 1));
}

async function openReal(path: string): Promise<OpenFile> {
  const file = await Deno.open(path, { write: true, create: true, truncate: true });
  return {
    write: (bytes) => attempting({ action: "write", value: finalName(path) }, () => writeAll(file, bytes)),
    sync: () => attempting({ action: "write", value: finalName(path) }, () => file.sync()),
    close: () => file.close(),
  };
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await file.write(bytes.subarray(done));
}

async function removeIfPresent(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function syncRealFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return; // a folder cannot be opened there; renames are journalled
  const folder = await Deno.open(path, { read: true });
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}
