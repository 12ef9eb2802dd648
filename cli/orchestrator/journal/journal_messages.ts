/** Messages between a journal's thread and its owner. Each item is one transaction, written in order. */

import { CanonicalWriter } from "./canonical_writer.ts";
import { readCanonical } from "./canonical_reader.ts";
import type { JournalEntry, Recovered } from "./journal.ts";
import type { JournalProblem } from "../../files/journal_error.ts";
import type { OpenJournalOptions } from "./journal_file.ts";

export interface Progress {
  readonly round: number;
  readonly step: number;
}

export type JournalItem =
  | { readonly type: "append"; readonly entries: Uint8Array; readonly progress: Progress } // packed
  | { readonly type: "snapshot"; readonly state: Uint8Array; readonly progress: Progress };

export interface JournalFailure {
  readonly code: JournalProblem;
  readonly message: string;
}

export type ToJournal =
  | { readonly type: "open"; readonly options: OpenJournalOptions }
  /** `attempt`: how many refusals the owner knows of. */
  | { readonly type: "write"; readonly attempt: number; readonly item: JournalItem }
  | { readonly type: "close" };

export type FromJournal =
  | { readonly type: "opened"; readonly recovered: Recovered; readonly sequence: number }
  | { readonly type: "notOpened"; readonly failure: JournalFailure }
  | { readonly type: "durable" } // first item under way
  | { readonly type: "refused"; readonly failure: JournalFailure }
  | { readonly type: "compacted"; readonly sequence: number }
  | { readonly type: "snapshotWanted"; readonly because: string }
  | { readonly type: "closed"; readonly isFenced: boolean };

export interface ReplayRequest {
  readonly snapshot: Uint8Array;
  readonly entries: Uint8Array; // packed
}

export type ReplayAnswer = { readonly state: Uint8Array } | { readonly problem: string };

const writer = new CanonicalWriter();

export function packEntries(entries: readonly JournalEntry[]): Uint8Array<ArrayBuffer> {
  return writer.write(entries);
}

export function unpackEntries(packed: Uint8Array): readonly JournalEntry[] {
  return readCanonical(packed) as readonly JournalEntry[];
}
