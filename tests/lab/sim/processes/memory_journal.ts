/**
 * The journal of a simulated orchestrator: what production's journal encodes, kept in memory instead of a file.
 *
 * Owns what a crash leaves: the last snapshot and the entries committed since. Entries are bytes, so that nothing the machine
 * changes later changes them; in a large swarm, where that would take a quarter of all time, they are the events themselves.
 * Both are read back by the code that replays a journal on disk. Out of scope: torn files, which have tests of their own.
 */

import { present } from "../../../../core/assert.ts";
import type { OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import { replay, replayEvents, type StateJournal } from "../../../../cli/orchestrator/journal/hub_journal.ts";
import { eventBytes, readSnapshot, snapshotBytes } from "../../../../cli/orchestrator/journal/state_bytes.ts";
import { isSnapshotDue, type JournalEntry } from "../../../../cli/orchestrator/journal/journal.ts";
import type { TimedEvent } from "../../../../cli/roles/driver.ts";

const meanEventBytes = 160; // measured, of thousands of miners

export class MemoryJournal implements StateJournal {
  readonly #encodes: boolean;
  #snapshot: Uint8Array | null = null;
  #entries: JournalEntry[] = []; // after the snapshot
  #events: TimedEvent<OrchestratorEvent>[] = []; // the same where they are not encoded
  #entryBytes = 0;

  constructor({ encodes }: { readonly encodes: boolean }) {
    this.#encodes = encodes;
  }

  begin(state: OrchestratorState, nowMs: number): void {
    this.#snapshot = snapshotBytes({ state, nowMs });
    this.#entries = [];
    this.#events = [];
    this.#entryBytes = 0;
  }

  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void {
    for (const timed of batch) this.#append(timed);
    const entries = this.#entries.length + this.#events.length;
    const [entryBytes, stateBytes] = [this.#entryBytes, this.#whole.byteLength];
    const last = batch.at(-1);
    if (last !== undefined && isSnapshotDue({ entries, entryBytes, stateBytes })) this.begin(state, last.nowMs);
  }

  /** The state after the last entry, which shares nothing with the state that ran on. */
  recover(): { state: OrchestratorState; nowMs: number } {
    const snapshot = this.#whole;
    return this.#encodes
      ? replay({ snapshot, entries: this.#entries })
      : replayEvents(readSnapshot(snapshot), this.#events);
  }

  #append(timed: TimedEvent<OrchestratorEvent>): void {
    const event = this.#encodes ? eventBytes(timed.event) : null;
    if (event === null) this.#events.push(timed);
    else this.#entries.push({ nowMs: timed.nowMs, event });
    this.#entryBytes += event?.byteLength ?? meanEventBytes;
  }

  get #whole(): Uint8Array {
    return present(this.#snapshot, "a journal begins with a snapshot");
  }
}
