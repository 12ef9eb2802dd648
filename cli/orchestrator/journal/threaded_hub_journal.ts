/** The journal's file on a thread of its own: a batch is durable when its promise resolves. */

import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { JournalThread, type JournalTicket } from "./journal_thread.ts";
import type { TimedEvent } from "../../roles/driver.ts";
import { type OpenedJournal, type OpenHubJournal, replayRecovered, type StateJournal } from "./hub_journal.ts";
import { eventBytes, snapshotBytes } from "./state_bytes.ts";

type Batch = readonly TimedEvent<OrchestratorEvent>[];

interface OpenThreadedJournal extends OpenHubJournal {
  readonly warn: (text: string) => void;
  readonly onCompacted?: (sequence: number) => void;
}

export class ThreadedHubJournal implements StateJournal {
  readonly #thread: JournalThread;
  readonly #tickets = new WeakMap<Batch, JournalTicket>();
  #last: { readonly state: OrchestratorState; readonly nowMs: number } | null = null; // after the last batch
  #snapshot: JournalTicket | null = null;

  static async open(options: OpenThreadedJournal): Promise<OpenedJournal & { readonly journal: ThreadedHubJournal }> {
    const { path, identity, maxBytes, onReplayed, warn, onCompacted = () => {} } = options;
    let own: ThreadedHubJournal | null = null;
    const { thread, recovered } = await JournalThread.open({
      ...{ path, identity, maxBytes, onCompacted },
      onSnapshotWanted: (because) => {
        warn(unreplayableText(path, because));
        if (own !== null) own.#takeSnapshot();
      },
    });
    own = new ThreadedHubJournal(thread);
    try {
      return { journal: own, recovered: replayRecovered(recovered, { path, onReplayed }) };
    } catch (error) {
      await own.close();
      throw error;
    }
  }

  private constructor(thread: JournalThread) {
    this.#thread = thread;
  }

  get isBehind(): boolean {
    return this.#thread.isBehind;
  }

  begin(state: OrchestratorState, nowMs: number): void {
    this.#last = { state, nowMs };
    this.#takeSnapshot();
  }

  commit(batch: Batch, state: OrchestratorState): Promise<void> {
    const offered = this.#tickets.get(batch);
    if (offered !== undefined) return this.#thread.again(offered);
    const nowMs = batch.at(-1)?.nowMs ?? this.#last?.nowMs ?? 0;
    this.#last = { state, nowMs };
    const { round, step } = state;
    const entries = batch.map(({ nowMs, event }) => ({ nowMs, event: eventBytes(event) }));
    const ticket = this.#thread.append(entries, { round, step });
    this.#tickets.set(batch, ticket);
    return ticket.durable.promise;
  }

  /** What is under way is written first. */
  async close(): Promise<void> {
    await this.#thread.close();
  }

  #takeSnapshot(): void {
    if (this.#snapshot !== null || this.#last === null) return;
    const { state, nowMs } = this.#last;
    const ticket = this.#thread.snapshot(snapshotBytes({ state, nowMs }), { round: state.round, step: state.step });
    this.#snapshot = ticket;
    ticket.durable.promise.then(() => this.#snapshot = null);
  }
}

const unreplayableText = (path: string, because: string): string =>
  `The journal '${path}' cannot be shortened as replaying it fails: ${because}. The orchestrator's live state was written ` +
  "instead and the run goes on; this is a bug, so please report it, and check the next steps' loss";
