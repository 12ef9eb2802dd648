/** Journal failures as one error class, translated from SQLite's errors. */

import { BlobError } from "../../net/blobs/blobs.ts";
import { isNoRoom } from "../../net/blobs/disk_problem.ts";

export type JournalProblem =
  | "foreign" // of another run, program version or configuration
  | "damaged" // cannot be trusted as far as its snapshot
  | "outdated" // a checkpoint is newer
  | "locked" // another process holds it
  | "fenced" // another process has taken it over
  | "noSpace"
  | "tooLarge"
  | "storage";

export class JournalError extends Error {
  override name = "JournalError";
  readonly code: JournalProblem;

  constructor(code: JournalProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Deno's SQLite reveals the kind of an error only in its text. */
const texts: readonly (readonly [RegExp, JournalProblem])[] = [
  [/locked|busy/i, "locked"],
  [/full|no space|ENOSPC/i, "noSpace"],
  [/malformed|not a database|corrupt/i, "damaged"],
];

interface JournalFacts {
  readonly path: string;
  readonly maxBytes: number | null;
  readonly isAtLimit?: boolean;
}

export function journalProblem(error: unknown, from: JournalFacts): JournalError {
  if (error instanceof JournalError) return error;
  const text = error instanceof Error ? error.message : String(error);
  const told = texts.find(([pattern]) => pattern.test(text))?.[1] ?? "storage";
  const code = told === "noSpace" && from.isAtLimit === true ? "tooLarge" : told; // SQLite has one text for both
  return new JournalError(code, `${sentence(code, from)}: ${text}`, { cause: error });
}

function sentence(code: JournalProblem, { path, maxBytes }: JournalFacts): string {
  switch (code) {
    case "locked":
      return `Cannot open the journal '${path}': another process holds it, so the run's orchestrator seems to be running`;
    case "damaged":
      return `The journal '${path}' is damaged`;
    case "noSpace":
      return `Cannot write the journal '${path}': the disk is full`;
    case "tooLarge":
      return `Cannot write the journal '${path}': it has reached its limit of ${maxBytes} bytes`;
    default:
      return `Cannot use the journal '${path}'`;
  }
}

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

/** Writes and removes the bytes, up to a bound; throws the disk's error. */
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
