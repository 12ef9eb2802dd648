/** What the journal's suites share: a journal that opens with known names, numbered entries, and a refusal to look at. */

import { assert, assertThrows } from "@std/assert";
import { Journal, type JournalEntry, type Recovered } from "../../../cli/orchestrator/journal/journal.ts";
import { JournalError } from "../../../cli/files/journal_error.ts";

export const identity = { run: "demo", program: "1.0.0", config: "abc" };
export const maxBytes = 2 ** 26;

export function open(path: string, changed: Partial<typeof identity & { maxBytes: number }> = {}) {
  const { maxBytes: limit = maxBytes, ...other } = changed;
  return Journal.open({ path, identity: { ...identity, ...other }, maxBytes: limit });
}

export const bytes = (text: string) => new TextEncoder().encode(text);
export const text = (value: Uint8Array | null) => value === null ? null : new TextDecoder().decode(value);
const entry = (index: number): JournalEntry => ({ nowMs: 1000 + index, event: bytes(`event ${index}`) });
export const entries = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => entry(from + i));
export const textsOf = ({ entries }: Recovered) => entries.map(({ event }) => text(event));

export function append(journal: Journal, from: number, to: number): void {
  journal.append(entries(from, to));
}

export function failure(body: () => unknown): JournalError {
  const error = assertThrows(body);
  assert(error instanceof JournalError, String(error));
  return error;
}
