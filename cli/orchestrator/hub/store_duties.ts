/** What the orchestrator's store needs from the run. */

import { fault } from "../../../core/fault.ts";
import type { NodeId } from "../../../core/ids.ts";
import type { OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { MemberStore } from "./hub_store.ts";
import type { RunPause } from "./run_pause.ts";

interface StoreDutiesOptions {
  readonly state: OrchestratorState;
  readonly driver: { readonly isFull: boolean; enqueue(event: OrchestratorEvent): void };
  readonly pause: RunPause;
  readonly isMember: (node: NodeId) => boolean;
  readonly self: NodeId; // uploads to itself: cli/roles/upload_probe.ts
  readonly onFailure: (error: unknown) => void;
}

export function storeDuties({ state, driver, pause, isMember, self, onFailure }: StoreDutiesOptions): MemberStore {
  return {
    mayStore(node) {
      const member = state.members.get(node);
      if (node === self || (member?.role === "miner" && member.stage !== null)) return null;
      return fault("notAdmitted", "Cannot store a blob: only a miner with a stage may store blobs");
    },
    quotaExceeded(node, fault) {
      if (isMember(node) && !driver.isFull) driver.enqueue({ type: "faultReceived", node, fault });
    },
    get isFull() {
      return pause.isFull;
    },
    onDiskFull(bytes) {
      pause.upload(bytes).catch(onFailure);
    },
  };
}
