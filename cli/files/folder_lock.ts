/**
 * The lock of a run's folder, `run.lock`: one process at a time writes there, from its first file on.
 *
 * The system ends the lock with the process, so the file itself stays. A swarm hands its orchestrator the lock's token;
 * process ids would not do, as every container has a process 1. Where the disk has no locks, only the journal's own
 * protect the run (journal_epoch.ts).
 */

import { systemCode, UserError } from "../program/errors.ts";

interface LockHolder {
  readonly command: string;
  readonly pid: number;
  readonly port: number | null;
  readonly token: string | null; // a process that was handed it may write here too
}

export interface FolderLock {
  readonly token: string | null;
  close(): void;
}

const fileName = "run.lock";
const mostBytes = 1_024; // of a holder's words

export interface AskedLock extends Pick<LockHolder, "command" | "port"> {
  readonly handed: string | null; // the token of the holder that started this process
}

/** Throws a `UserError` that names the holder. The folder must exist. */
export function lockFolder(folder: string, { command, port, handed }: AskedLock): FolderLock {
  const path = `${folder}/${fileName}`;
  if (kindOf(path) === "other") throw notAFile(path);
  const file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
  if (tryLock(file)) {
    const token = crypto.randomUUID();
    writeHolder(file, { command, pid: Deno.pid, port, token });
    return { token, close: () => file.close() };
  }
  const holder = readHolder(file);
  const mayWrite = isHandedBy(holder, handed);
  if (mayWrite) writeHolder(file, { ...holder, port });
  file.close();
  if (mayWrite) return { token: handed, close: () => {} };
  throw heldError(folder, holder);
}

/** Neither takes the lock nor writes. */
export function refuseHeldFolder(folder: string, handed: string | null): void {
  const path = `${folder}/${fileName}`;
  const kind = kindOf(path);
  if (kind === "none") return;
  if (kind === "other") throw notAFile(path);
  const file = Deno.openSync(path, { read: true, write: true });
  try {
    if (tryLock(file)) return;
    const holder = readHolder(file);
    if (!isHandedBy(holder, handed)) throw heldError(folder, holder);
  } finally {
    file.close();
  }
}

export function isRunHeld(folder: string): boolean {
  const path = `${folder}/${fileName}`;
  let file: Deno.FsFile;
  try {
    if (kindOf(path) !== "file") return false; // nobody has held it yet; opening a pipe would wait for its other end
    file = Deno.openSync(path, { read: true });
  } catch {
    return false;
  }
  try {
    return !tryLock(file, { isShared: true });
  } finally {
    file.close();
  }
}

function isHandedBy(holder: LockHolder | null, handed: string | null): holder is LockHolder {
  return handed !== null && holder?.token === handed;
}

/** A link is none of ours: what it leads to would be overwritten. */
function kindOf(path: string): "none" | "file" | "other" {
  try {
    return Deno.lstatSync(path).isFile ? "file" : "other";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return "none";
    throw error;
  }
}

function notAFile(path: string): UserError {
  const { isDirectory, isSymlink } = Deno.lstatSync(path);
  const found = isDirectory ? "a folder" : isSymlink ? "a link" : "neither a file nor a folder";
  return new UserError(`Cannot lock the run's folder: '${path}' is ${found}, and the lock must be a file`, {
    next: "Move it away, then start again",
  });
}

function tryLock(file: Deno.FsFile, { isShared = false } = {}): boolean {
  try {
    return file.tryLockSync(!isShared);
  } catch (error) {
    if (unsupported.has(systemCode(error))) return true;
    throw error;
  }
}

const unsupported: ReadonlySet<string> = new Set(["ENOLCK", "ENOSYS", "ENOTSUP", "EOPNOTSUPP"]);

function heldError(folder: string, holder: LockHolder | null): UserError {
  const port = holder?.port ?? null;
  const who = holder === null
    ? "another process"
    : `iota ${holder.command}, process ${holder.pid}${port === null ? "" : `, which listens at port ${port}`}`;
  return new UserError(
    `Cannot use '${folder}': it is in use by ${who}`,
    {
      next: "Stop the other one first, or choose another folder with --data DIR",
    },
  );
}

/** In place, so that the lock stays on this very file. */
function writeHolder(file: Deno.FsFile, holder: LockHolder): void {
  const bytes = new TextEncoder().encode(`${JSON.stringify(holder)}\n`);
  file.truncateSync(0);
  file.seekSync(0, Deno.SeekMode.Start);
  file.writeSync(bytes);
}

/** Null: unreadable; the holder may be writing it now. */
function readHolder(file: Deno.FsFile): LockHolder | null {
  const bytes = new Uint8Array(mostBytes);
  const count = file.readSync(bytes) ?? 0;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes.subarray(0, count)));
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { command, pid, port, token } = value as Record<string, unknown>;
  const isHolder = typeof command === "string" && /^[a-z]{1,20}$/.test(command) && Number.isSafeInteger(pid);
  if (!isHolder) return null;
  return {
    ...{ command, pid: Number(pid) },
    port: Number.isSafeInteger(port) ? Number(port) : null,
    token: typeof token === "string" ? token : null,
  };
}
