/**
 * What a simulated orchestrator keeps when it is killed: a snapshot of its state and every event since, in memory.
 *
 * Owns the same contract as a journal on disk: an event is appended before its effects are performed. `recover` gives back what
 * `replay` needs; the state is a copy that shares nothing with the one that ran on.
 */

import { Buffer } from "node:buffer";
import { deserialize, serialize } from "node:v8";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";

export interface HubStore {
  append(nowMs: number, event: OrchestratorEvent): void;
}

export interface Recovered {
  readonly state: OrchestratorState;
  readonly events: readonly { readonly nowMs: number; readonly event: OrchestratorEvent }[];
}

const eventsPerSnapshot = 20_000;
const bytesPerEvent = 2_000; // of a large state, which is copied more rarely

export class MemoryStore implements HubStore {
  #snapshot: Buffer = Buffer.alloc(0);
  #events: { nowMs: number; event: OrchestratorEvent }[] = [];

  constructor(state: OrchestratorState) {
    this.snapshot(state);
  }

  get isSnapshotDue(): boolean {
    return this.#events.length >= Math.max(eventsPerSnapshot, this.#snapshot.length / bytesPerEvent);
  }

  append(nowMs: number, event: OrchestratorEvent): void {
    this.#events.push({ nowMs, event });
  }

  /** Call only between two events. */
  snapshot(state: OrchestratorState): void {
    this.#snapshot = serialize(state);
    this.#events = [];
  }

  recover(): Recovered {
    return { state: deserialize(this.#snapshot), events: this.#events };
  }
}
