/**
 * How far the journal had come, in a small file beside it, because SQLite treats a truncated or missing log as one that
 * was never longer. It names the last entry whose effects may have been seen outside. Written in place after every
 * batch, not synced: it is never ahead of durable entries.
 */

import { crc32 } from "node:zlib";

export interface Mark {
  readonly sequence: number; // last durable entry
  readonly round: number;
  readonly step: number;
}

export function markPath(journalPath: string): string {
  return `${journalPath}.mark`;
}

const lineBytes = 128; // below a sector: written as a whole

export class JournalMark {
  readonly #path: string;
  #file: Deno.FsFile | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  write({ sequence, round, step }: Mark): void {
    const text = JSON.stringify({ sequence, round, step, check: checkOf({ sequence, round, step }) });
    try {
      this.#file ??= Deno.openSync(this.#path, { write: true, create: true });
      this.#file.seekSync(0, Deno.SeekMode.Start);
      this.#file.writeSync(new TextEncoder().encode(`${text.padEnd(lineBytes - 1)}\n`));
    } catch {
      // The entry is durable; only the mark lags.
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = null;
  }
}

export function readMark(path: string): Mark | "damaged" | null {
  try {
    return parseMark(Deno.readTextFileSync(path)) ?? "damaged";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    return "damaged";
  }
}

function parseMark(text: string): Mark | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { sequence, round, step, check } = value as Record<string, unknown>;
  if (![sequence, round, step].every(Number.isSafeInteger)) return null;
  const mark = { sequence, round, step } as Mark;
  return check === checkOf(mark) ? mark : null;
}

function checkOf({ sequence, round, step }: Mark): number {
  return crc32(`${sequence} ${round} ${step}`);
}
