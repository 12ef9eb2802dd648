/**
 * What the orchestrator machine is told, and what it asks for. Two closed unions; cli/hub performs the effects and brings
 * every result back as an event. Tensors stay outside: events name received segments by BlobRef, in order.
 *
 * Ownership: each segment of a `message` event is held once by the shell for this machine, until a `release` effect names it.
 */

import type { WireScale } from "../codec/wire.ts";
import type { SettingChange } from "../config/change.ts";
import type { Fault } from "../fault.ts";
import type { BlobHash, BlobRef, MicrobatchId, NodeId, StageIndex } from "../ids.ts";
import type { PayloadStats } from "../merge/payload_stats.ts";
import type { HubMessage, NodeMessage, ParameterSource, Role, Slice, WeightedPayload } from "../protocol/message.ts";
import type { RunRecord } from "../protocol/record.ts";
import type { MergePhase } from "./merge/merge_state.ts";

export type OrchestratorEvent =
  | { readonly type: "nodeConnected"; readonly node: NodeId; readonly role: Role; readonly resumed: boolean }
  | { readonly type: "nodeDisconnected"; readonly node: NodeId }
  /** Whoever decides who may take part has changed its mind. */
  | { readonly type: "nodeDismissed"; readonly node: NodeId; readonly fault: Fault }
  | {
    readonly type: "messageReceived";
    readonly node: NodeId;
    readonly role: Role; // that the node proved in the hello of this session
    readonly message: NodeMessage;
    readonly segments: readonly BlobRef[];
    /** Of the wires of a `taskDone`; zeros for other messages. */
    readonly scale: WireScale;
  }
  | { readonly type: "faultReceived"; readonly node: NodeId; readonly fault: Fault }
  | {
    readonly type: "sliceRefereed";
    readonly round: number;
    readonly edition: number;
    readonly stage: StageIndex;
    readonly slice: number;
    readonly result: BlobRef | null; // null: the payloads were unusable
  }
  /** `stats` of all slices together; null: one is not in the store, or is damaged. */
  | {
    readonly type: "payloadChecked";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly stats: PayloadStats | null;
  }
  /** A payload that the hub should reduce is not in the store, or is damaged. */
  | {
    readonly type: "sliceUnavailable";
    readonly round: number;
    readonly stage: StageIndex;
    readonly slice: number;
  }
  | {
    readonly type: "blobsChecked";
    readonly round: number;
    readonly stage: StageIndex;
    readonly phase: MergePhase;
    readonly lost: readonly BlobRef[]; // gone or damaged
  }
  | {
    readonly type: "mergeRefereed";
    readonly round: number;
    readonly stage: StageIndex;
    readonly parameters: BlobRef;
    readonly momentum: BlobRef | null;
  }
  /** What the hub's outer step starts from, or a slice, is not in the store, or is damaged. */
  | {
    readonly type: "mergeUnavailable";
    readonly round: number;
    readonly stage: StageIndex;
    readonly lost: "start" | "slices";
  }
  | {
    readonly type: "stageRestored";
    readonly round: number;
    readonly stage: StageIndex;
    readonly source: ParameterSource;
    readonly from: "stored" | "checkpoint" | "neighbours" | "initial";
  }
  | { readonly type: "checkpointWritten"; readonly round: number; readonly folder: string }
  | {
    readonly type: "checkpointFailed";
    readonly round: number;
    readonly detail: string;
    readonly missing: StageIndex | null; // whose blobs the store does not have
  }
  /** Two wires that were made of one input. */
  | {
    readonly type: "wiresCompared";
    readonly step: number;
    readonly microbatch: MicrobatchId;
    readonly making: number;
    readonly stage: StageIndex;
    readonly last: BlobHash; // of the wire that was made last
    readonly apart: number; // the largest error of a row, as a share of the larger row
  }
  /** The state was read back from the journal: sessions and the hub's own work of the last life are gone. */
  | {
    readonly type: "restarted";
    readonly changes?: readonly SettingChange[]; // of settings that may change
    readonly lost?: readonly BlobRef[]; // segments that only the last life had; the shell holds the others
  }
  | { readonly type: "tick" };

/** What the shell puts into a frame behind the header. */
export type Attachment =
  | { readonly type: "blob"; readonly ref: BlobRef }
  | { readonly type: "inputs"; readonly microbatch: MicrobatchId }
  | { readonly type: "targets"; readonly microbatch: MicrobatchId }
  | { readonly type: "heldOutInputs" }
  | { readonly type: "heldOutTargets" };

export type OrchestratorEffect =
  | {
    readonly type: "send";
    readonly to: NodeId;
    readonly message: HubMessage;
    readonly attachments: readonly Attachment[];
  }
  /** Ends the session; a fault of code notAdmitted or tooLarge is final, after others the node may join again. */
  | { readonly type: "disconnect"; readonly node: NodeId; readonly fault: Fault }
  /** How far two wires are apart: answered by `wiresCompared`. Both are held until then. */
  | {
    readonly type: "compareWires";
    readonly step: number;
    readonly microbatch: MicrobatchId;
    readonly making: number;
    readonly stage: StageIndex;
    readonly first: BlobRef;
    readonly last: BlobRef;
  }
  /** Segments that are not needed any more. */
  | { readonly type: "release"; readonly refs: readonly BlobRef[] }
  /** Stored blobs that are not needed any more. */
  | { readonly type: "deleteBlobs"; readonly hashes: readonly BlobHash[] }
  /** Once a round: what is not among these now and was not the last time may go; answers that came too late left it. */
  | { readonly type: "sweepBlobs"; readonly used: ReadonlySet<string> }
  /** Reads these blobs to the end and tells which are lost: answered by `blobsChecked`. */
  | {
    readonly type: "checkBlobs";
    readonly round: number;
    readonly stage: StageIndex;
    readonly phase: MergePhase;
    readonly refs: readonly BlobRef[];
  }
  /** Reads a committed payload to the end: answered by `payloadChecked`. */
  | {
    readonly type: "checkPayload";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly slices: readonly BlobRef[];
    readonly layout: readonly Slice[] | null; // null: vectors of the whole stage, as plain values
  }
  /** The hub reduces a slice itself: answered by `sliceRefereed` or `sliceUnavailable`. */
  | {
    readonly type: "refereeSlice";
    readonly round: number;
    readonly edition: number;
    readonly stage: StageIndex;
    readonly slice: number;
    readonly inputs: readonly WeightedPayload[];
  }
  /** The hub takes the outer step itself: answered by `mergeRefereed` or `mergeUnavailable`. */
  | {
    readonly type: "refereeMerge";
    readonly round: number;
    readonly stage: StageIndex;
    readonly source: ParameterSource;
    readonly slices: readonly BlobRef[];
  }
  /** A miner could not load the stage: see whether it is stored, or bring it back: answered by `stageRestored`. */
  | {
    readonly type: "restoreStage";
    readonly round: number;
    readonly stage: StageIndex;
    readonly sources: readonly ParameterSource[]; // of every stage
    readonly gradientSquares: readonly number[]; // of every stage, squared norm of the last step's
  }
  | {
    readonly type: "writeCheckpoint";
    readonly round: number;
    readonly step: number;
    readonly sources: readonly ParameterSource[];
  }
  | { readonly type: "record"; readonly record: RunRecord }
  /** The run is over, `finished` or because it cannot go on: flush, close, leave. */
  | { readonly type: "finish"; readonly finished: boolean; readonly reason: string };

export const send = (
  to: NodeId,
  message: HubMessage,
  attachments: readonly Attachment[] = [],
): OrchestratorEffect => ({ type: "send", to, message, attachments });

export const record = (value: RunRecord): OrchestratorEffect => ({ type: "record", record: value });

/** Answers a wrong message: the sender reads why, the run's record shows it. */
export function reject(node: NodeId, fault: Fault): OrchestratorEffect[] {
  return [
    send(node, { type: "reject", fault }),
    record({ type: "faultSeen", node, code: fault.code, detail: fault.detail }),
  ];
}
