/**
 * The journal of a simulated orchestrator: what production's journal encodes, kept in memory instead of a file.
 *
 * Owns what a crash leaves: the entries that were committed. They are encoded when committed, so that nothing the machine
 * changes later changes them; in a large swarm, where that would take a third of all time, only when they are read back, which
 * the code does that replays a journal on disk. Out of scope: torn files, which have tests of their own.
 */

import { serialize } from "node:v8";
import { present } from "../../../core/assert.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { replay, snapshotOf, type StateJournal } from "../../hub/hub_journal.ts";
import { isSnapshotDue, type JournalEntry } from "../../journal/journal.ts";
import type { TimedEvent } from "../../roles/driver.ts";

type Entry = JournalEntry | TimedEvent<OrchestratorEvent>;

const meanEventBytes = 160; // measured, of thousands of miners

export class MemoryJournal implements StateJournal {
  readonly #encodesLate: boolean;
  #snapshot: Uint8Array | null = null;
  #entries: Entry[] = []; // after the snapshot
  #entryBytes = 0;

  constructor({ encodesLate }: { readonly encodesLate: boolean }) {
    this.#encodesLate = encodesLate;
  }

  begin(state: OrchestratorState, nowMs: number): void {
    this.#snapshot = snapshotOf(state, nowMs);
    this.#entries = [];
    this.#entryBytes = 0;
  }

  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void {
    for (const timed of batch) this.#append(timed);
    const [entries, entryBytes, stateBytes] = [this.#entries.length, this.#entryBytes, this.#whole.byteLength];
    if (isSnapshotDue({ entries, entryBytes, stateBytes })) this.begin(state, this.#entries.at(-1)?.nowMs ?? 0);
  }

  /** The state after the last entry, which shares nothing with the state that ran on. */
  recover(): { state: OrchestratorState; nowMs: number } {
    return replay({ snapshot: this.#whole, entries: this.#entries.map(encoded) });
  }

  #append(timed: TimedEvent<OrchestratorEvent>): void {
    const entry = this.#encodesLate ? timed : encoded(timed);
    this.#entries.push(entry);
    this.#entryBytes += entry.event instanceof Uint8Array ? entry.event.byteLength : meanEventBytes;
  }

  get #whole(): Uint8Array {
    return present(this.#snapshot, "a journal begins with a snapshot");
  }
}

function encoded({ nowMs, event }: Entry): JournalEntry {
  return { nowMs, event: event instanceof Uint8Array ? event : serialize(event) };
}
