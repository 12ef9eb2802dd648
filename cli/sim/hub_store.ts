/**
 * What a simulated orchestrator keeps when it is killed: a snapshot of its state and every event since, in memory.
 *
 * Owns the contract that a journal on disk has too: an event is appended before its effects are performed. `recover` gives back
 * what `replay` needs; the state is a copy that shares nothing with the one that ran on.
 */

import { Buffer } from "node:buffer";
import { deserialize, serialize } from "node:v8";
import type { OrchestratorEvent } from "../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import type { HubShellState } from "./hub_shell_state.ts";

export interface HubStore {
  append(nowMs: number, event: OrchestratorEvent): void;
}

export interface Recovered {
  readonly state: OrchestratorState;
  readonly shell: HubShellState;
  readonly events: readonly { readonly nowMs: number; readonly event: OrchestratorEvent }[];
}

const eventsPerSnapshot = 20_000;

export class MemoryStore implements HubStore {
  #snapshot: Buffer = Buffer.alloc(0);
  #shell: HubShellState;
  #events: { nowMs: number; event: OrchestratorEvent }[] = [];

  constructor(state: OrchestratorState, shell: HubShellState) {
    this.#shell = shell.copy();
    this.snapshot(state, shell);
  }

  get isSnapshotDue(): boolean {
    return this.#events.length >= eventsPerSnapshot;
  }

  append(nowMs: number, event: OrchestratorEvent): void {
    this.#events.push({ nowMs, event });
  }

  /** Between two events only. */
  snapshot(state: OrchestratorState, shell: HubShellState): void {
    this.#snapshot = serialize(state);
    this.#shell = shell.copy();
    this.#events = [];
  }

  recover(): Recovered {
    return { state: deserialize(this.#snapshot), shell: this.#shell.copy(), events: this.#events };
  }
}
