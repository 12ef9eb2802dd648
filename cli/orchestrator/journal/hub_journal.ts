/**
 * The orchestrator machine's history on disk: events before their effects, its state at intervals, no wires
 * (saved_wires.ts).
 */

import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { Recovered } from "./journal.ts";
import { JournalError } from "../../files/journal_error.ts";
import type { JournalIdentity } from "./journal_file.ts";
import type { TimedEvent } from "../../roles/driver.ts";
import { readEvent, readSnapshot, type Snapshot } from "./state_bytes.ts";

export interface RecoveredRun {
  readonly state: OrchestratorState;
  readonly nowMs: number;
  readonly events: number;
  readonly cut: string | null;
  readonly sequence: number;
}

export interface OpenHubJournal {
  readonly path: string;
  readonly identity: JournalIdentity;
  readonly maxBytes: number;
  /** None of them is performed. */
  readonly onReplayed?: ((effects: readonly OrchestratorEffect[]) => void) | undefined;
}

type Whole = Pick<Recovered, "entries"> & { readonly snapshot: Uint8Array };

/** Throws if an event no longer fits, or a rule is broken at the end. */
export function replay({ snapshot, entries }: Whole, onReplayed?: OpenHubJournal["onReplayed"]): Snapshot {
  return replayEvents(readSnapshot(snapshot), eventsOf(entries), onReplayed);
}

export function replayEvents(
  { state, nowMs }: Snapshot,
  events: Iterable<TimedEvent<OrchestratorEvent>>,
  onReplayed?: OpenHubJournal["onReplayed"],
): Snapshot {
  let lastMs = nowMs;
  for (const timed of events) {
    const effects = orchestrator.step(state, timed.event, timed.nowMs);
    onReplayed?.(effects);
    lastMs = timed.nowMs;
  }
  orchestrator.assertInvariants(state);
  return { state, nowMs: lastMs };
}

function* eventsOf(entries: Whole["entries"]): Generator<TimedEvent<OrchestratorEvent>, void> {
  for (const { nowMs, event } of entries) yield { nowMs, event: readEvent(event) };
}

export interface StateJournal {
  /** Before a process's first event. */
  begin(state: OrchestratorState, nowMs: number): void;
  /**
   * Before a batch's effects: durable now, or when the promise resolves. Batches may overlap. May be called again with
   * the first batch that failed.
   */
  commit(batch: readonly TimedEvent<OrchestratorEvent>[], state: OrchestratorState): void | Promise<void>;
  /** Back-pressure. */
  readonly isBehind?: boolean;
}

export interface OpenedJournal {
  readonly journal: StateJournal & { close(): void | Promise<void> };
  readonly recovered: RecoveredRun | null;
}

/** Null: a new journal. Throws a `JournalError` if events no longer fit. */
export function replayRecovered(
  { snapshot, entries, cut, sequence }: Recovered & { readonly sequence: number },
  { path, onReplayed }: Pick<OpenHubJournal, "path" | "onReplayed">,
): RecoveredRun | null {
  if (snapshot === null) return null;
  try {
    const { state, nowMs } = replay({ snapshot, entries }, onReplayed);
    return { state, nowMs, events: entries.length, cut, sequence };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new JournalError("damaged", `Cannot continue from the journal '${path}': replaying it fails: ${why}`);
  }
}
