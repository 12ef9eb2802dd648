/** What the orchestrator's role is started with, and what its owner may call while it runs. */

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
import type { RecoveredRun, StateJournal } from "./journal/hub_journal.ts";
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
  /** Events are written there before their effects; null: a restart continues from the checkpoint. */
  readonly journal?: StateJournal | null;
  /** Events that arrive together are made durable together: see the driver. */
  readonly gather?: (callback: () => void) => void;
  /** The last process's state; `from` is then ignored. */
  readonly recovered?: RecoveredRun | null;
  /** The wires that the last process saved. */
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
  /** Restores the round's blobs from its checkpoint; false if there is none. */
  readonly putBackRound?: (round: number) => Promise<boolean>;
  /** Restores the blobs of the newest whole checkpoint up to the round; null if there is none. */
  readonly putBackEarlier?: (round: number) => Promise<EarlierRound | null>;
  readonly onRecord: (record: RunRecord) => void;
  /** Facts for the run's signed log, in order with the records. @default dropped */
  readonly onLog?: (entry: MachineEntry) => void;
  /** Names the trace that a message belongs to. @default none */
  readonly traces?: { named(message: HubMessage, to: NodeId): HubMessage } | undefined;
  /** Opens the device on which the orchestrator repeats tasks that were found wrong. */
  readonly openReferee: () => Promise<ComputeHost>;
  /** Of members' signatures. @default checks them between other work */
  readonly checker?: SignatureChecker;
  /** On vectors of merges. @default computes between other work */
  readonly arithmetic?: VectorArithmetic;
  /** Throws while the disk has no room for so many bytes; default: never throws. */
  readonly probeRoom?: (bytes: number) => Promise<void>;
  /** Uploads so many bytes to the address that nodes dial; what refuses them, in words. @default without such an address */
  readonly probeUpload?: (bytes: number) => Promise<string | null>;
}

export interface RunningOrchestrator {
  readonly state: OrchestratorState; // read-only
  readonly traffic: Traffic;
  readonly segments: ByteSegments;
  readonly finished: Promise<Finished>;
  readonly refusals: RefusalCounts; // connections that did not prove a node, since this process began
  accept(wire: Wire): WireHandler;
  /** Connected, or without a link for a moment and expected back: it goes on using blobs meanwhile. */
  isMember(node: NodeId): boolean;
  /** For the store that members upload to. */
  readonly members: MemberStore;
  /** Asks `admit` about every member again and dismisses those it refuses for good. */
  review(): void;
  /** The run's owner pauses it, or lets it go on: no event is taken meanwhile, and nobody is late because of it. */
  holdForOwner(isHeld: boolean): void;
  /** Takes a member out of the run. */
  dismiss(node: NodeId, why: { fault: Fault; reason: string }): void;
  /** A halted run repeats its lost round now. False: it is not halted. */
  retryRound(): boolean;
  /** To settings that may change; durable like any event. */
  changeSettings(changes: readonly SettingChange[]): void;
  /**
   * Ends this process but not the run, once every event taken so far is durable and its effects are performed; at once while
   * the run waits for room. Nodes only see the link close, so they wait for the next process as they do after a kill. A run that
   * is over ends by itself.
   */
  stop(reason: string): void;
}
