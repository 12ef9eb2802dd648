/**
 * Which entries of a replayed journal a log lacks: those after the place where its last entries stand among the replayed ones.
 *
 * `recent`: the log's last entries, as text. If the last of them is not among the replayed ones, all of these are missing, and
 * perhaps others before them: the journal's snapshot is newer than the log's end, or begins right after it.
 */

import type { MachineEntry } from "../../core/ledger/entry.ts";

export interface MissingEntries {
  readonly entries: readonly MachineEntry[];
  readonly isJoined: boolean; // the log ends where they begin
}

export function missingEntries(replayed: readonly MachineEntry[], recent: readonly string[]): MissingEntries {
  const texts = replayed.map((entry) => JSON.stringify(entry));
  for (let end = replayed.length; end > 0; end--) {
    const shared = Math.min(end, recent.length);
    if (shared === 0) break;
    if (texts.slice(end - shared, end).every((text, i) => text === recent[recent.length - shared + i])) {
      return { entries: replayed.slice(end), isJoined: true };
    }
  }
  return { entries: replayed, isJoined: false };
}
