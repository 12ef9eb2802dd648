/** The orchestrator's journal written by its own thread: each batch is durable when `commit` returns. */

import type { OrchestratorEvent } from "../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import {
  type OpenHubJournal,
  type RecoveredRun,
  replayRecovered,
  type StateJournal,
} from "../../cli/orchestrator/journal/hub_journal.ts";
import { eventBytes, snapshotBytes } from "../../cli/orchestrator/journal/state_bytes.ts";
import { Journal } from "../../cli/orchestrator/journal/journal.ts";
import { JournalMark, markPath } from "../../cli/orchestrator/journal/journal_mark.ts";
import type { TimedEvent } from "../../cli/roles/driver.ts";

export class HubJournal implements StateJournal {
  readonly #journal: Journal;
  readonly #mark: JournalMark;
  #lastMs = 0;
  #appended: readonly TimedEvent<OrchestratorEvent>[] | null = null; // newest batch in the file

  static open(options: OpenHubJournal): { journal: HubJournal; recovered: RecoveredRun | null } {
    const { journal, recovered } = Journal.open(options);
    const own = new HubJournal(journal, new JournalMark(markPath(options.path)));
    try {
      const run = replayRecovered({ ...recovered, sequence: journal.sequence }, options);
      own.#lastMs = run?.nowMs ?? 0;
      return { journal: own, recovered: run };
    } catch (error) {
      own.close();
      throw error;
    }
  }

  private constructor(journal: Journal, mark: JournalMark) {
    this.#journal = journal;
    this.#mark = mark;
  }

  begin(state: OrchestratorState, nowMs: number): void {
    this.#lastMs = nowMs;
    this.#journal.snapshot(snapshotBytes({ state, nowMs }));
    this.#promise(state);
  }

  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void {
    if (this.#appended !== batch) this.#append(batch);
    this.#appended = batch; // it comes again if a later write fails
    this.#promise(state);
    if (this.#journal.needsSnapshot) this.begin(state, this.#lastMs);
  }

  #append(batch: readonly TimedEvent<OrchestratorEvent>[]): void {
    this.#journal.append(batch.map(({ nowMs, event }) => ({ nowMs, event: eventBytes(event) })));
    this.#lastMs = batch.at(-1)?.nowMs ?? this.#lastMs;
  }

  /** Its effects may be performed. */
  #promise({ round, step }: OrchestratorState): void {
    this.#mark.write({ sequence: this.#journal.sequence, round, step });
  }

  close(): void {
    this.#mark.close();
    this.#journal.close();
  }
}
