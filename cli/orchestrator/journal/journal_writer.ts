/**
 * The far end of a journal's thread: writes items in order. After a failed write it drops what was sent before the
 * owner knew, so that nothing overtakes the failed item. For a snapshot, the history is replayed elsewhere (`compact`),
 * because a large state would block the owner's loop; if it does not replay, the owner is asked for its live state.
 */

import { present, unreachable } from "../../../core/assert.ts";
import { type History, Journal } from "./journal.ts";
import { JournalError } from "../../files/journal_error.ts";
import type { OpenJournalOptions } from "./journal_file.ts";
import { JournalMark, markPath } from "./journal_mark.ts";
import {
  type FromJournal,
  type JournalFailure,
  type JournalItem,
  type ToJournal,
  unpackEntries,
} from "./journal_messages.ts";

interface JournalWriterOptions {
  readonly send: (message: FromJournal) => void;
  readonly compact: (history: History, signal: AbortSignal) => Promise<Uint8Array>;
  /** @default the disk's own errors */
  readonly beforeWrite?: () => void;
}

const retryEntries = 1024; // after a compaction that found no room

export class JournalWriter {
  readonly #closing = new AbortController();
  #isCompacting = false; // or waits for a live snapshot
  #compactFrom = 0; // sequence
  readonly #options: JournalWriterOptions;
  #opened: { readonly journal: Journal; readonly mark: JournalMark } | null = null;
  #refusals = 0;

  constructor(options: JournalWriterOptions) {
    this.#options = options;
  }

  receive(message: ToJournal): void {
    switch (message.type) {
      case "open":
        return this.#open(message.options);
      case "write":
        if (message.attempt === this.#refusals) this.#write(message.item);
        return;
      case "close":
        this.#closing.abort();
        this.#opened?.mark.close();
        this.#opened?.journal.close();
        return this.#options.send({ type: "closed", isFenced: this.#opened?.journal.isFenced === true });
      default:
        return unreachable(message);
    }
  }

  #open(options: OpenJournalOptions): void {
    try {
      const { journal, recovered } = Journal.open(options);
      this.#opened = { journal, mark: new JournalMark(markPath(options.path)) };
      this.#options.send({ type: "opened", recovered, sequence: journal.sequence });
    } catch (error) {
      this.#options.send({ type: "notOpened", failure: failureOf(error) });
    }
  }

  #write(item: JournalItem): void {
    const { journal, mark } = present(this.#opened, "the journal is open");
    try {
      this.#options.beforeWrite?.();
      if (item.type === "append") journal.append(unpackEntries(item.entries));
      else {
        journal.snapshot(item.state);
        this.#isCompacting = false;
      }
    } catch (error) {
      this.#refusals += 1;
      return this.#options.send({ type: "refused", failure: failureOf(error) });
    }
    mark.write({ sequence: journal.sequence, ...item.progress });
    this.#options.send({ type: "durable" });
    if (journal.needsSnapshot && !this.#isCompacting && journal.sequence >= this.#compactFrom) this.#compact(journal);
  }

  #compact(journal: Journal): void {
    this.#isCompacting = true;
    const { compact, send } = this.#options;
    const history = journal.history();
    const { sequence } = history;
    const { signal } = this.#closing;
    compact(history, signal).then((state) => {
      // A live snapshot may have come first.
      if (!signal.aborted && this.#isCompacting) this.#replace(journal, { sequence, state });
    }, (error: Error) => {
      if (!signal.aborted) send({ type: "snapshotWanted", because: error.message });
    });
  }

  #replace(journal: Journal, compacted: { sequence: number; state: Uint8Array }): void {
    this.#isCompacting = false;
    try {
      this.#options.beforeWrite?.();
      journal.compact(compacted);
    } catch (error) {
      failureOf(error); // the next append fails too and tells the owner
      this.#compactFrom = journal.sequence + retryEntries;
      return;
    }
    this.#options.send({ type: "compacted", sequence: compacted.sequence });
  }
}

/** Any other error is our bug and ends the run. */
function failureOf(error: unknown): JournalFailure {
  if (!(error instanceof JournalError)) throw error;
  return { code: error.code, message: error.message };
}
