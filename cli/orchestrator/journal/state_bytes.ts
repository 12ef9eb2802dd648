/**
 * The orchestrator's events and states as canonical bytes, and back. Members and work items have an identity, because
 * the state changes them from several places. Other repeated objects are never changed or compared by identity, so they
 * are written again (tests/unit/hub/state_bytes_test.ts).
 */

import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { Member, OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { WorkItem } from "../../../core/orchestrator/step/step_state.ts";
import { readCanonical } from "./canonical_reader.ts";
import { CanonicalWriter } from "./canonical_writer.ts";

export interface Snapshot {
  readonly state: OrchestratorState;
  readonly nowMs: number; // of the machine's clock
}

const ofMember: keyof Member = "leasedForwards";
const ofWorkItem: keyof WorkItem = "isDoubtful";

const events = new CanonicalWriter();
const states = new CanonicalWriter((keys) => keys.includes(ofMember) || keys.includes(ofWorkItem));

export function eventBytes(event: OrchestratorEvent): Uint8Array<ArrayBuffer> {
  return events.write(event);
}

export function readEvent(bytes: Uint8Array): OrchestratorEvent {
  return readCanonical(bytes) as OrchestratorEvent;
}

export function snapshotBytes(snapshot: Snapshot): Uint8Array<ArrayBuffer> {
  return states.write(snapshot);
}

export function readSnapshot(bytes: Uint8Array): Snapshot {
  return readCanonical(bytes) as Snapshot;
}
