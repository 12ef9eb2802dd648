/** How the orchestrator's role is started, and what its owner may call. */

import type { HubMessage } from "../../../core/protocol/message.ts";
import type { SettingChange } from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { Fault } from "../../../core/fault.ts";
import type { BlobHash, NodeId } from "../../../core/ids.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { PastRounds } from "../../../core/ledger/ledger_state.ts";
import type { OrchestratorState, RoundSources } from "../../../core/orchestrator/state.ts";
import type { MachineEntry } from "../../../core/ledger/entry.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { Admit, Signer, Verify } from "../../../net/auth/hello.ts";
import type { NetLimits } from "../../../net/limits.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import type { TicketBox } from "../../../net/auth/ticket.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import type { Wire, WireHandler } from "../../../net/links/wire.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import type { BatchSource } from "../../model/data/dataset.ts";
import type { HubBlobs } from "../../roles/blob_access.ts";
import type { VectorArithmetic } from "./arithmetic/vector_calls.ts";
import type { EarlierRound, RoundState } from "./checkpoint_writer.ts";
import type { RecoveredRun, StateJournal } from "../journal/hub_journal.ts";
import type { MemberStore } from "./hub_store.ts";
import type { Finished } from "../../node/node_runtime.ts";
import type { ByteSegments } from "../../roles/segments.ts";
import type { SignatureChecker } from "../../roles/signatures/signature_check.ts";
import type { Traffic } from "../../observe/traffic.ts";

export interface OrchestratorRoleOptions {
  readonly runId: string;
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly from?: { readonly step: number; readonly sources: RoundSources };
  readonly past?: PastRounds; // @default none
  /** Null: a restart continues from the checkpoint. */
  readonly journal?: StateJournal | null;
  /** See the driver. */
  readonly gather?: (callback: () => void) => void;
  readonly recovered?: RecoveredRun | null;
  readonly savedWires?: ReadonlyMap<BlobHash, Uint8Array>;
  readonly signer: Signer;
  readonly verify: Verify;
  readonly admit: Admit;
  readonly tickets: TicketBox;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly random: Random;
  readonly blobs: HubBlobs;
  readonly batches: BatchSource;
  readonly storeRound: (round: RoundState) => Promise<string>;
  readonly putBackRound?: (round: number) => Promise<boolean>;
  readonly putBackEarlier?: (round: number) => Promise<EarlierRound | null>;
  readonly onRecord: (record: RunRecord) => void;
  /** For the signed log, in order with the records. @default dropped */
  readonly onLog?: (entry: MachineEntry) => void;
  /** @default none */
  readonly traces?: { named(message: HubMessage, to: NodeId): HubMessage } | undefined;
  /** Repeats tasks that were found wrong. */
  readonly openReferee: () => Promise<ComputeHost>;
  readonly checker?: SignatureChecker;
  readonly arithmetic?: VectorArithmetic;
  /** Throws while so many bytes do not fit. */
  readonly probeRoom?: (bytes: number) => Promise<void>;
  /** Returns the refusal in words. @default without an address that nodes dial */
  readonly probeUpload?: (bytes: number) => Promise<string | null>;
}

export interface RunningOrchestrator {
  readonly state: OrchestratorState; // read-only
  readonly traffic: Traffic;
  readonly segments: ByteSegments;
  readonly finished: Promise<Finished>;
  readonly refusals: RefusalCounts;
  accept(wire: Wire): WireHandler;
  /** Connected, or expected back soon and still using blobs. */
  isMember(node: NodeId): boolean;
  readonly members: MemberStore;
  /** Dismisses members that `admit` now refuses for good. */
  review(): void;
  /** Meanwhile no event is taken and nobody becomes late. */
  holdForOwner(isHeld: boolean): void;
  dismiss(node: NodeId, why: { fault: Fault; reason: string }): void;
  /** False: the run is not halted. */
  retryRound(): boolean;
  /** Durable like any event. */
  changeSettings(changes: readonly SettingChange[]): void;
  /**
   * Ends this process, not the run, once every event taken is durable and performed; at once while the run waits for
   * room.
   */
  stop(reason: string): void;
}
