/** Recognises disk-full errors from any source, and probes whether there is room again. */

import { BlobError } from "../../net/blobs/blobs.ts";
import { isNoRoom } from "../../net/blobs/disk_problem.ts";
import { JournalError } from "./journal_error.ts";

/** Also recognises one wrapped in a sentence for people. */
export function isDiskFull(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof BlobError && cause.code === "diskFull") return true;
    if (cause instanceof JournalError && cause.code === "noSpace") return true;
    if (isNoRoom(cause)) return true;
  }
  return false;
}

const mostProbedBytes = 64 * 2 ** 20; // enough to detect room without writing for hours while there is none
const chunkBytes = 2 ** 20;

/** Writes and removes the number of bytes needed, up to a bound; throws the disk's error. */
export async function probeRoom(folder: string, neededBytes: number): Promise<void> {
  const path = `${folder}/room.probe`;
  try {
    using file = await Deno.open(path, { create: true, truncate: true, write: true });
    const chunk = new Uint8Array(chunkBytes);
    for (let left = Math.min(neededBytes, mostProbedBytes); left > 0;) {
      left -= await file.write(chunk.subarray(0, Math.min(left, chunkBytes)));
    }
    await file.sync();
  } finally {
    await Deno.remove(path).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}
