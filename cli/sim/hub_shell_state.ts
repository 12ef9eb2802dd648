/**
 * What the orchestrator's shell must know again after a restart, beside the machine's state: who holds which segment, and which
 * work of its own is unanswered.
 *
 * Both follow from events and effects alone, so a replay that passes them here rebuilds them.
 */

import { unreachable } from "../../core/assert.ts";
import type { OrchestratorEffect, OrchestratorEvent } from "../../core/orchestrator/event.ts";
import { HeldSegments } from "./held_segments.ts";

export type OwnWork = Extract<OrchestratorEffect, { type: "refereeSlice" | "refereeMerge" | "writeCheckpoint" }>;

export class HubShellState {
  segments = new HeldSegments();
  readonly unanswered = new Map<string, OwnWork>();

  /** Before the machine takes the event. */
  take(event: OrchestratorEvent): void {
    switch (event.type) {
      case "messageReceived":
        return this.segments.hold(event.segments);
      case "sliceRefereed":
        return void this.unanswered.delete(`slice ${event.round} ${event.stage} ${event.slice}`);
      case "mergeRefereed":
        return void this.unanswered.delete(`merge ${event.round} ${event.stage}`);
      case "checkpointWritten":
      case "checkpointFailed":
        return void this.unanswered.delete(`checkpoint ${event.round}`);
      case "nodeConnected":
      case "nodeDisconnected":
      case "faultReceived":
      case "stopRequested":
      case "tick":
        return;
      default:
        return unreachable(event);
    }
  }

  /** After it, for each effect. */
  book(effect: OrchestratorEffect): void {
    switch (effect.type) {
      case "release":
        return this.segments.release(effect.refs);
      case "refereeSlice":
      case "refereeMerge":
      case "writeCheckpoint":
        return void this.unanswered.set(keyOf(effect), effect);
      case "send":
      case "disconnect":
      case "deleteBlobs":
      case "record":
      case "finish":
        return;
      default:
        return unreachable(effect);
    }
  }

  copy(): HubShellState {
    const copy = new HubShellState();
    copy.segments = this.segments.copy();
    for (const [key, work] of this.unanswered) copy.unanswered.set(key, work);
    return copy;
  }

  equals(other: HubShellState): boolean {
    return this.segments.equals(other.segments) &&
      [...this.unanswered.keys()].join() === [...other.unanswered.keys()].join();
  }
}

function keyOf(work: OwnWork): string {
  switch (work.type) {
    case "refereeSlice":
      return `slice ${work.round} ${work.stage} ${work.slice}`;
    case "refereeMerge":
      return `merge ${work.round} ${work.stage}`;
    case "writeCheckpoint":
      return `checkpoint ${work.round}`;
  }
}
