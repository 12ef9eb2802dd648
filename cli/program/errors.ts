/**
 * What a person sees when a command fails: the error classes, the message for each common system error, the exit codes.
 */

import { dirname } from "node:path";
import { shellWord } from "./shell_words.ts";

export class UserError extends Error {
  override name = "UserError";
  readonly next: string | undefined;
  readonly exitCode: number = exitFailed;

  constructor(message: string, options: { next?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.next = options.next;
  }
}

export class UsageError extends UserError {
  override name = "UsageError";
  override readonly exitCode = exitUsage;
}

/** Nothing is wrong, but it is too early: the same command works later. */
export class TooSoonError extends UserError {
  override name = "TooSoonError";
  override readonly exitCode = exitTooSoon;
}

/** No error: printed as a summary. */
export class Stopped extends UserError {
  override name = "Stopped";

  constructor(message = "Stopped on request") {
    super(message);
  }
}

/**
 * SIGTERM, which a service manager sends to stop a role, a closed terminal, or a key. An orderly stop is not a failure.
 */
export class Terminated extends Stopped {
  override name = "Terminated";
  override readonly exitCode = exitFine;

  constructor() {
    super("Stopped at the system's request");
  }
}

export const interrupted = { finished: false, reason: "interrupted" } as const;

/** If `work` is asked to stop, `tell` says what had ended by then; the stop itself still ends the command. */
export async function untilStopped(work: () => Promise<void>, tell: () => void): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Stopped) tell();
    throw error;
  }
}

interface Attempt {
  readonly action: string;
  readonly value: string;
  /** The action creates the file, so what does not exist is its folder. */
  readonly creates?: boolean;
}

interface Refusal {
  readonly reason: string;
  readonly next: string;
}

const refusals: Readonly<Record<string, Refusal>> = {
  EACCES: { reason: "this user has no access to it", next: "Change its permissions, or pass another one" },
  EPERM: { reason: "this user has no access to it", next: "Change its permissions, or pass another one" },
  ENOTCAPABLE: {
    reason: "this command keeps rights only to its data folder and to plain files that its options name",
    next: "Pass another path, outside /dev, /proc and /sys",
  },
  EROFS: { reason: "its disk is read-only", next: "Pass a folder on another disk with --data DIR" },
  ENOSPC: {
    reason: "the disk is full",
    next: "Free some space, or pass a folder on another disk with --data DIR",
  },
  EDQUOT: {
    reason: "your disk quota is used up",
    next: "Free some space, or pass a folder on another disk with --data DIR",
  },
  ENOENT: { reason: "it does not exist", next: "Check the spelling" },
  ENAMETOOLONG: { reason: "its name is too long for this system", next: "Pass another path" },
  ELOOP: { reason: "its links lead in a circle", next: "Pass another path" },
  EIO: { reason: "its disk cannot be read or written there", next: "Check the disk, or pass a path on another one" },
  ENOTDIR: { reason: "a part of its path is not a folder", next: "Check the spelling" },
  EEXIST: { reason: "a file of that name exists", next: "Remove the file, or pass another path" },
  EISDIR: { reason: "it is a folder", next: "Pass the path of a file" },
  EADDRINUSE: { reason: "another program listens there", next: "Stop the other program, or pass another port" },
  EADDRNOTAVAIL: {
    reason: "the address is not one of this machine",
    next: "Pass an address of this machine, such as 127.0.0.1",
  },
  ECONNREFUSED: { reason: "nothing listens there", next: "Check the address, and that the other side is running" },
};

/** Undefined if a person cannot act on it. */
export function explainRefusal(error: unknown, attempt: Attempt): UserError | undefined {
  const code = systemCode(error);
  const refusal = code === "ENOENT" && attempt.creates === true ? folderMissing(attempt.value) : refusals[code];
  if (refusal === undefined) return undefined;
  const message = `Cannot ${attempt.action} '${attempt.value}': ${refusal.reason}`;
  return new UserError(message, { next: refusal.next, cause: error });
}

function folderMissing(path: string): Refusal {
  return { reason: "its folder does not exist", next: `Create the folder: mkdir -p ${shellWord(dirname(path))}` };
}

/** A system error becomes a `UserError`, any other error is passed on. */
export async function attempting<T>(attempt: Attempt, body: () => T | Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    throw explainRefusal(error, attempt) ?? error;
  }
}

export function attemptingSync<T>(attempt: Attempt, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw explainRefusal(error, attempt) ?? error;
  }
}

/** Deno sets `code` on most system errors; some have only their class. */
export function systemCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const code = (error as Error & { code?: unknown }).code;
  if (typeof code === "string") return code;
  if (error instanceof Deno.errors.AddrInUse) return "EADDRINUSE";
  if (error instanceof Deno.errors.NotCapable) return "ENOTCAPABLE"; // our own sandbox, not a permission on disk
  if (error instanceof Deno.errors.PermissionDenied) return "EACCES";
  return error instanceof Deno.errors.NotFound ? "ENOENT" : "";
}

/** Scripts rely on these numbers: they do not change. */
export const exitFine = 0;
export const exitFailed = 1;
const exitUsage = 2;
export const exitTooSoon = 75; // EX_TEMPFAIL of sysexits.h
export const exitInterrupted = 130; // 128 + SIGINT, the shell convention
