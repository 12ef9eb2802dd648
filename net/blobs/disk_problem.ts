/** Turns a system error about a blob folder into a message with a next step. Other errors are passed through. */

import { BlobError } from "./blobs.ts";

export function diskProblem(error: unknown, folder: string): unknown {
  if (error instanceof BlobError || !(error instanceof Error)) return error;
  if (isNoRoom(error)) {
    const next = "free some space or choose another data folder";
    return new BlobError("diskFull", `Cannot store a blob in ${folder}: the disk is full; ${next}`, { cause: error });
  }
  const isOurs = error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable ||
    /os error \d+/.test(error.message);
  if (!isOurs) return error; // from the source, not from the disk
  const next = "make it a folder that this user can write, or choose another data folder";
  return new BlobError("storage", `Cannot use ${folder} for blobs: ${error.message}; ${next}`, {
    cause: error,
  });
}

export function isNoRoom(error: Error): boolean {
  const code = "code" in error ? error.code : undefined;
  return code === "ENOSPC" || code === "EDQUOT" || /os error (28|122)/.test(error.message);
}
