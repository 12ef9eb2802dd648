/**
 * The orchestrator machine's history on disk: its events before their effects, its state at intervals. Wires are not included:
 * those of a killed process are remade (core/orchestrator/step/taking_back.ts), a stopped one saves them (saved_wires.ts).
 *
 * Owns the encoding (V8's own, which keeps maps, sets and shared objects) and the way back: snapshot, then every event after it
 * through the same machine. An orchestrator that is stopped and one that is killed leave the same journal.
 */

import { deserialize, serialize } from "node:v8";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import { orchestrator } from "../../core/orchestrator/machine.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import { Journal, type Recovered } from "../journal/journal.ts";
import { JournalMark } from "../journal/journal_mark.ts";
import { JournalError } from "../journal/journal_error.ts";
import type { JournalIdentity } from "../journal/journal_file.ts";
import type { TimedEvent } from "../roles/driver.ts";

/** A run as it was when its last process ended. */
export interface RecoveredRun {
  readonly state: OrchestratorState;
  readonly nowMs: number; // of the machine's clock at the last event
  readonly events: number; // replayed
  readonly cut: string | null;
  readonly sequence: number; // of the last entry
}

export interface OpenHubJournal {
  readonly path: string;
  readonly identity: JournalIdentity;
  readonly maxBytes: number;
  /** Receives the effects of replayed events again; none is performed. */
  readonly onReplayed?: (effects: readonly OrchestratorEffect[]) => void;
}

interface Snapshot {
  readonly state: OrchestratorState;
  readonly nowMs: number;
}

type Whole = Pick<Recovered, "entries"> & { readonly snapshot: Uint8Array };

/** The state after every entry. Throws when an event no longer fits, or a rule is broken at the end. */
export function replay({ snapshot, entries }: Whole, onReplayed?: OpenHubJournal["onReplayed"]): Snapshot {
  const { state, nowMs }: Snapshot = deserialize(snapshot);
  for (const entry of entries) {
    const event: OrchestratorEvent = deserialize(entry.event);
    const effects = orchestrator.step(state, event, entry.nowMs);
    onReplayed?.(effects);
  }
  orchestrator.assertInvariants(state);
  return { state, nowMs: entries.at(-1)?.nowMs ?? nowMs };
}

/** A state as the journal stores it. */
export function snapshotOf(state: OrchestratorState, nowMs: number): Uint8Array {
  return serialize({ state, nowMs } satisfies Snapshot);
}

export function markPath(journalPath: string): string {
  return `${journalPath}.mark`;
}

/** What the orchestrator's role needs of a journal. */
export interface StateJournal {
  /** Called before a process's first event, with the state it begins with. */
  begin(state: OrchestratorState, nowMs: number): void;
  /** After stepping a batch, before performing its effects. May be called again with a batch that it failed for. */
  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void;
}

export class HubJournal implements StateJournal {
  readonly #journal: Journal;
  readonly #mark: JournalMark;
  #lastMs = 0;
  #appended: readonly TimedEvent<OrchestratorEvent>[] | null = null; // the newest batch, once its entries are in the file

  static open(options: OpenHubJournal): { journal: HubJournal; recovered: RecoveredRun | null } {
    const { journal, recovered } = Journal.open(options);
    const own = new HubJournal(journal, new JournalMark(markPath(options.path)));
    if (recovered.snapshot === null) return { journal: own, recovered: null };
    try {
      const { state, nowMs } = own.#replay({ ...recovered, snapshot: recovered.snapshot }, options.onReplayed);
      const { cut, entries } = recovered;
      return {
        journal: own,
        recovered: { state, nowMs, events: entries.length, cut, sequence: journal.sequence },
      };
    } catch (error) {
      own.close();
      const why = error instanceof Error ? error.message : String(error);
      throw new JournalError(
        "damaged",
        `Cannot continue from the journal '${options.path}' as replaying it fails: ${why}`,
      );
    }
  }

  #replay(recovered: Whole, onReplayed: OpenHubJournal["onReplayed"]): Snapshot {
    const replayed = replay(recovered, onReplayed);
    this.#lastMs = replayed.nowMs;
    return replayed;
  }

  private constructor(journal: Journal, mark: JournalMark) {
    this.#journal = journal;
    this.#mark = mark;
  }

  begin(state: OrchestratorState, nowMs: number): void {
    this.#lastMs = nowMs;
    this.#journal.snapshot(snapshotOf(state, nowMs));
    this.#promise(state);
  }

  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void {
    if (this.#appended !== batch) this.#append(batch);
    this.#appended = batch; // later writes may fail on a full disk, then the same batch comes again
    this.#promise(state);
    if (this.#journal.needsSnapshot) this.begin(state, this.#lastMs);
  }

  #append(batch: readonly TimedEvent<OrchestratorEvent>[]): void {
    this.#journal.append(batch.map(({ nowMs, event }) => ({ nowMs, event: serialize(event) })));
    this.#lastMs = batch.at(-1)?.nowMs ?? this.#lastMs;
  }

  /** The batch is now durable, so its effects may be performed. */
  #promise({ round, step }: OrchestratorState): void {
    this.#mark.write({ sequence: this.#journal.sequence, round, step });
  }

  close(): void {
    this.#mark.close();
    this.#journal.close();
  }
}
