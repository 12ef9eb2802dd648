/**
 * What the simulated orchestrator reports to the checkers.
 */

import type { Fault } from "../../../../core/fault.ts";
import type { NodeId } from "../../../../core/ids.ts";
import type { OrchestratorEvent } from "../../../../core/orchestrator/event.ts";
import type { MachineEntry } from "../../../../core/ledger/entry.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import type { HubMessage } from "../../../../core/protocol/message.ts";
import type { RunRecord } from "../../../../core/protocol/record.ts";

export interface HubWatch {
  /** The machine is about to be checked; large swarms skip some checks. */
  isCheckDue(): boolean;
  onEvent(event: OrchestratorEvent, state: OrchestratorState): void;
  onSend(to: NodeId, message: HubMessage, state: OrchestratorState): void;
  onDisconnect(node: NodeId, fault: Fault): void;
  onRecord(record: RunRecord, state: OrchestratorState): void;
  onLog(entry: MachineEntry): void;
  /** A new process has taken the run up, in the state that crashed. */
  onRestarted(state: OrchestratorState): void;
}
