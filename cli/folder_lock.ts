/**
 * The lock of a run's folder: one process at a time writes there, from its first file on.
 *
 * Owns: `run.lock`, a file that is locked while its holder lives and says who that is. The system ends the lock with the process,
 * however it ends, so the file itself stays. A swarm holds the lock for its orchestrator, its child, too. Where the disk has no
 * locks, as some network disks do not, only the journal's own protect the run (journal_epoch.ts).
 */

import { systemCode, UserError } from "./output/errors.ts";

export interface LockHolder {
  readonly command: string;
  readonly pid: number;
  readonly port: number | null; // where it listens; null: not yet
}

export interface FolderLock {
  close(): void;
}

const fileName = "run.lock";
const mostBytes = 1_024; // of a holder's words

/** Throws a `UserError` that names the holder if there is one. The folder must exist. */
export function lockFolder(folder: string, { command, port }: Omit<LockHolder, "pid">): FolderLock {
  const path = `${folder}/${fileName}`;
  const file = Deno.openSync(path, { read: true, write: true, create: true, mode: 0o600 });
  if (tryLock(file)) {
    writeHolder(file, { command, pid: Deno.pid, port });
    return { close: () => file.close() };
  }
  const holder = readHolder(file);
  const isParents = holder?.pid === Deno.ppid;
  if (isParents) writeHolder(file, { ...holder, port });
  file.close();
  if (isParents) return { close: () => {} };
  throw heldError(folder, holder);
}

/** The same check without taking the lock: writes nothing. */
export function refuseHeldFolder(folder: string): void {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(`${folder}/${fileName}`, { read: true, write: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return;
    throw error;
  }
  try {
    if (tryLock(file)) return;
    const holder = readHolder(file);
    if (holder?.pid !== Deno.ppid) throw heldError(folder, holder);
  } finally {
    file.close(); // which ends the lock
  }
}

/** Whether a process holds the folder now. Needs no right to write. */
export function isRunHeld(folder: string): boolean {
  let file: Deno.FsFile;
  try {
    file = Deno.openSync(`${folder}/${fileName}`, { read: true });
  } catch {
    return false; // nobody has held it yet, or it is another user's
  }
  try {
    return !tryLock(file, { isShared: true });
  } finally {
    file.close();
  }
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
    `Cannot use '${folder}' as one process at a time may hold a run's folder: it is held by ${who}`,
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

/** Null if it says nothing that can be read: it may be writing it now. */
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
  const { command, pid, port } = value as Record<string, unknown>;
  const isHolder = typeof command === "string" && /^[a-z]{1,20}$/.test(command) && Number.isSafeInteger(pid);
  return isHolder ? { command, pid: Number(pid), port: Number.isSafeInteger(port) ? Number(port) : null } : null;
}
