/** The journal of a scripted orchestrator in memory: the events as bytes, and a new life that replays them. */

import { assertEquals } from "@std/assert";
import { eventBytes, readEvent, readSnapshot, snapshotBytes } from "../../../cli/orchestrator/journal/state_bytes.ts";
import type { BlobRef } from "../../../core/ids.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

export class ReplayedJournal {
  readonly #hub: ScriptedOrchestrator;
  readonly #snapshot: Uint8Array;
  readonly #entries: { readonly bytes: Uint8Array; readonly nowMs: number }[] = [];
  readonly #wires = new Map<string, BlobRef>(); // in the process's memory

  /** Journals every event from here on; a trace of the same orchestrator must have begun before. */
  constructor(hub: ScriptedOrchestrator) {
    this.#hub = hub;
    this.#snapshot = snapshotBytes({ state: hub.state, nowMs: hub.nowMs });
    const { watch } = hub;
    hub.watch = (event, effects) => {
      this.#entries.push({ bytes: eventBytes(event), nowMs: hub.nowMs });
      if (event.type === "messageReceived") { for (const ref of event.segments) this.#wires.set(ref.hash, ref); }
      for (const effect of effects) {
        if (effect.type === "release") { for (const { hash } of effect.refs) this.#wires.delete(hash); }
      }
      watch(event, effects);
    };
  }

  /** The process ends and a new one takes over: state from the journal, no wire in memory, no message under way. */
  restart(): void {
    const { state } = readSnapshot(this.#snapshot);
    for (const { bytes, nowMs } of this.#entries) orchestrator.step(state, readEvent(bytes), nowMs);
    const { nowMs } = this.#hub;
    assertEquals(snapshotBytes({ state, nowMs }), snapshotBytes({ state: this.#hub.state, nowMs }));
    Object.assign(this.#hub, { state });
    for (const node of state.members.keys()) this.#hub.inbox(node).length = 0;
    this.#hub.step({ type: "restarted", lost: [...this.#wires.values()] });
  }
}
