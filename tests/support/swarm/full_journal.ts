/** An orchestrator's journal on a disk that is full from a moment of the run on. */

import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { JournalError } from "../../../cli/files/journal_error.ts";
import type { StateJournal } from "../../../cli/orchestrator/journal/hub_journal.ts";
import { HubJournal } from "../hub_journal.ts";

/** From one moment on the disk has no room, until `hasRoom`. */
export class FullJournal implements StateJournal {
  hasRoom = false;
  attempts = 0; // failed ones
  #isFull = false;
  readonly #inner: HubJournal;
  readonly #when: (state: OrchestratorState) => boolean;

  constructor(inner: HubJournal, when: (state: OrchestratorState) => boolean) {
    this.#inner = inner;
    this.#when = when;
  }

  begin: StateJournal["begin"] = (state, nowMs) => this.#inner.begin(state, nowMs);

  commit: StateJournal["commit"] = (batch, state) => {
    this.#isFull ||= this.#when(state);
    if (this.#isFull && !this.hasRoom) {
      this.attempts += 1;
      throw new JournalError("noSpace", "Cannot write the journal 'j': the disk is full");
    }
    this.#inner.commit(batch, state);
  };
}

export function openJournal(folder: string) {
  const identity = { run: "local", program: "test", config: "test" };
  return HubJournal.open({ path: `${folder}/journal.db`, identity, maxBytes: 2 ** 28 });
}
