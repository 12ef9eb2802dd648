/**
 * The fencing token of a journal: a number that every opening raises. A process writes only while the number is its
 * own, so that one that lost the journal (a network disk dropped its lock, it was frozen and replaced) stops.
 *
 * Commits compare a small file, because SQLite serves its own from memory while it believes it holds the lock. Between
 * comparison and commit another process may still take over.
 */

import { JournalError } from "../../files/journal_error.ts";

export class JournalEpoch {
  readonly #journalPath: string;
  readonly #value: number;

  private constructor(journalPath: string, value: number) {
    this.#journalPath = journalPath;
    this.#value = value;
  }

  /** `from`: the journal's own number. */
  static raise(journalPath: string, from: number): JournalEpoch {
    const epoch = new JournalEpoch(journalPath, Math.max(from, readEpoch(journalPath) ?? 0) + 1);
    epoch.#write();
    return epoch;
  }

  get value(): number {
    return this.#value;
  }

  /** Throws a "fenced" `JournalError` unless this opening is the last. */
  assertOwn(): void {
    const found = readEpoch(this.#journalPath);
    if (found === this.#value) return;
    throw new JournalError(
      "fenced",
      `Cannot write the journal '${this.#journalPath}': its epoch is ${found ?? "gone"}, not ${this.#value}, ` +
        "so another process has taken over the run",
    );
  }

  #write(): void {
    const path = epochPath(this.#journalPath);
    const file = Deno.openSync(path, { write: true, create: true, truncate: true }); // whatever damage was there
    try {
      file.writeSync(new TextEncoder().encode(`${this.#value}\n`));
      file.syncSync();
    } finally {
      file.close();
    }
  }
}

export function epochPath(journalPath: string): string {
  return `${journalPath}.epoch`;
}

function readEpoch(journalPath: string): number | null {
  try {
    const value = Number(Deno.readTextFileSync(epochPath(journalPath)));
    return Number.isSafeInteger(value) && value > 0 ? value : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}
