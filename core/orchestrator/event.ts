/**
 * The orchestrator machine's inputs (events) and outputs (effects); cli/orchestrator performs the effects and returns
 * every result as an event. Tensors stay outside: the shell holds each segment of a `message` event, named by its
 * BlobRef, until a `release` effect.
 */

import type { WireScale } from "../codec/wire.ts";
import type { SettingChange } from "../settings/change.ts";
import type { Fault } from "../fault.ts";
import type { BlobHash, BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { PayloadShape } from "../update/payload_shape.ts";
import type { PayloadStats } from "../update/payload_stats.ts";
import type { MachineEntry } from "../ledger/entry.ts";
import type { HubMessage, NodeMessage, ParameterSource, ReplaySource, Role } from "../protocol/message.ts";
import type { Slice, WeightedPayload } from "../protocol/merge_messages.ts";
import type { RunRecord } from "../protocol/record.ts";
import type { SignedStatement } from "../statements/statement.ts";
import type { RefereedRepetition } from "../score/verdict.ts";
import type { MergePhase } from "./merge/merge_state.ts";
import type { RoundSources } from "./state.ts";

export type OrchestratorEvent =
  | { readonly type: "nodeConnected"; readonly node: NodeId; readonly role: Role; readonly resumed: boolean }
  | { readonly type: "nodeDisconnected"; readonly node: NodeId }
  /** The admission decision for a node has changed. */
  | { readonly type: "nodeDismissed"; readonly node: NodeId; readonly fault: Fault; readonly reason?: string }
  | {
    readonly type: "messageReceived";
    readonly node: NodeId;
    readonly role: Role; // proven by the node in this session's hello
    readonly message: NodeMessage;
    readonly segments: readonly BlobRef[];
    /** Scales of the wires of a `taskDone`; zeros for other messages. */
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
  /** `parameters`: null if the store has lost their inputs. */
  | {
    readonly type: "endLaid";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly parameters: BlobRef | null;
  }
  /** Null: a slice is missing from the store or damaged; a null shape may also have no numbers to measure. */
  | {
    readonly type: "payloadChecked";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly stats: PayloadStats | null;
    readonly shape: PayloadShape | null;
    readonly isSigned: boolean; // the commitment matches this payload and has its miner's signature
  }
  /** `isFinite`: of all values; null if a vector is missing from the store or damaged. */
  | {
    readonly type: "uploadChecked";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly isFinite: boolean | null;
  }
  /** `way`: the change from the round's start to the opened parameters; null if missing from the store or damaged. */
  | {
    readonly type: "stateChecked";
    readonly round: number;
    readonly step: number;
    readonly node: NodeId;
    readonly way: PayloadStats | null;
    readonly sketch: readonly number[] | null; // of the change; null: unknown, or non-finite
  }
  /** A payload for the orchestrator to reduce is missing from the store or damaged. */
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
    readonly slices: readonly BlobRef[]; // of the outer step
    readonly parameters: BlobRef;
    readonly momentum: BlobRef | null;
  }
  /** The start of the orchestrator's outer step, or a slice, is missing from the store or damaged. */
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
  /** No parameters of the round are left for the stage; the newest checkpoint before it is in the store. */
  | {
    readonly type: "earlierRoundFound";
    readonly round: number;
    readonly stage: StageIndex;
    readonly earlier: { readonly step: number; readonly sources: RoundSources };
  }
  | { readonly type: "checkpointWritten"; readonly round: number; readonly folder: string }
  | {
    readonly type: "checkpointFailed";
    readonly round: number;
    readonly detail: string;
    readonly missing: StageIndex | null; // whose blobs are missing from the store
  }
  | {
    readonly type: "wiresCompared";
    readonly step: number;
    readonly microbatch: MicrobatchId;
    readonly making: number;
    readonly stage: StageIndex;
    readonly last: BlobHash; // of the last wire
    readonly apart: number; // the largest error of a row, as a share of the larger row
  }
  /** `found`: null if the orchestrator could not repeat it, as `detail` says. */
  | {
    readonly type: "taskRefereed";
    readonly task: TaskId;
    readonly found: RefereedRepetition | null;
    readonly detail: string;
  }
  /** `squareSum`: null if the orchestrator could not repeat the gradient. */
  | {
    readonly type: "gradientRefereed";
    readonly task: TaskId;
    readonly squareSum: number | null;
    readonly detail: string;
  }
  /** The state was restored from the journal: the last process's sessions and own work are gone. */
  | {
    readonly type: "restarted";
    readonly changes?: readonly SettingChange[]; // to settings that may change
    readonly lost?: readonly BlobRef[]; // segments lost with the last process; the shell holds the others
  }
  /** The orchestrator tried an upload to its own public address. `refusal` null: it worked, or no address is known. */
  | { readonly type: "uploadsProbed"; readonly refusal: string | null }
  /** By the run's owner: a halted run repeats its lost round now. */
  | { readonly type: "roundRetried" }
  /** By the run's owner, to settings that may change. */
  | { readonly type: "settingsChanged"; readonly changes: readonly SettingChange[] }
  /** The signatures of an answer to a request, in order. */
  | { readonly type: "signaturesChecked"; readonly request: number; readonly areGenuine: readonly boolean[] }
  | { readonly type: "tick" };

/** The frame's content after the header, added by the shell. */
export type Attachment =
  | { readonly type: "blob"; readonly ref: BlobRef }
  | { readonly type: "inputs"; readonly microbatch: MicrobatchId }
  | { readonly type: "targets"; readonly microbatch: MicrobatchId }
  | { readonly type: "heldOutInputs" }
  | { readonly type: "heldOutTargets" };

export type OrchestratorEffect =
  /** Adds a fact to the run's signed log. */
  | { readonly type: "log"; readonly entry: MachineEntry }
  | {
    readonly type: "send";
    readonly to: NodeId;
    readonly message: HubMessage;
    readonly attachments: readonly Attachment[];
  }
  /** A fault of code notAdmitted or tooLarge is final; after others the node may join again. */
  | { readonly type: "disconnect"; readonly node: NodeId; readonly fault: Fault }
  /** Answered by `wiresCompared`. Both wires are held until then. */
  | {
    readonly type: "compareWires";
    readonly step: number;
    readonly microbatch: MicrobatchId;
    readonly making: number;
    readonly stage: StageIndex;
    readonly first: BlobRef;
    readonly last: BlobRef;
  }
  | { readonly type: "release"; readonly refs: readonly BlobRef[] }
  | { readonly type: "deleteBlobs"; readonly hashes: readonly BlobHash[] }
  /**
   * Once a round: blobs absent from this list and from the previous one may be deleted; late answers left them behind.
   */
  | { readonly type: "sweepBlobs"; readonly used: ReadonlySet<string> }
  /** Reads these blobs in full: answered by `blobsChecked`. */
  | {
    readonly type: "checkBlobs";
    readonly round: number;
    readonly stage: StageIndex;
    readonly phase: MergePhase;
    readonly refs: readonly BlobRef[];
  }
  /** Reads a committed payload in full: answered by `payloadChecked`. */
  | {
    readonly type: "checkPayload";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly slices: readonly BlobRef[];
    readonly layout: readonly Slice[]; // the values of each
    readonly sketchKey: number; // core/update/payload_shape.ts
    readonly signed: SignedStatement; // its commitment
  }
  /** Reads the change from the round's start to opened parameters in full: answered by `stateChecked`. */
  | {
    readonly type: "checkState";
    readonly round: number;
    readonly step: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly change: BlobRef;
    readonly sketchKey: number;
  }
  /** Stores the candidate parameters to which a payload alone leads from the round's start: answered by `endLaid`. */
  | {
    readonly type: "layEnd";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly source: ParameterSource;
    readonly slices: readonly BlobRef[];
    readonly layout: readonly Slice[];
  }
  /** Reads the vectors of an uploaded stage in full: answered by `uploadChecked`. */
  | {
    readonly type: "checkUpload";
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId;
    readonly vectors: readonly BlobRef[];
  }
  /** The orchestrator reduces a slice itself: answered by `sliceRefereed` or `sliceUnavailable`. */
  | {
    readonly type: "refereeSlice";
    readonly round: number;
    readonly edition: number;
    readonly stage: StageIndex;
    readonly slice: number;
    readonly inputs: readonly WeightedPayload[];
  }
  /** The orchestrator takes the outer step itself: answered by `mergeRefereed` or `mergeUnavailable`. */
  | {
    readonly type: "refereeMerge";
    readonly round: number;
    readonly stage: StageIndex;
    readonly source: ParameterSource;
    readonly slices: readonly BlobRef[];
  }
  /** Work that a validator found wrong: answered by `taskRefereed`. Its segments are held until then. */
  | {
    readonly type: "refereeTask";
    readonly round: number;
    readonly task: TaskId;
    readonly stage: StageIndex;
    readonly direction: Direction;
    readonly losses: readonly number[] | null;
    readonly source: ReplaySource;
    readonly attachments: readonly Attachment[]; // as for a validator
  }
  /** As `refereeTask`, answered by `gradientRefereed`. */
  | {
    readonly type: "refereeGradient";
    readonly round: number;
    readonly task: TaskId; // the first one
    readonly stage: StageIndex;
    readonly direction: Direction;
    readonly source: ReplaySource;
    readonly attachments: readonly Attachment[]; // two per task
  }
  /** Checks signatures beside the driver: answered by `signaturesChecked`. */
  | { readonly type: "checkSignatures"; readonly request: number; readonly signed: readonly SignedStatement[] }
  /** A miner could not load the stage. Answered by `stageRestored` or `earlierRoundFound`. */
  | {
    readonly type: "restoreStage";
    readonly round: number;
    readonly stage: StageIndex;
    readonly sources: readonly ParameterSource[]; // of every stage
    readonly gradientSquares: readonly number[]; // of every stage, squared norm of the last step's
  }
  /** Uploads this many bytes to the address that nodes use: answered by `uploadsProbed`. */
  | { readonly type: "probeUploads"; readonly bytes: number }
  | {
    readonly type: "writeCheckpoint";
    readonly round: number;
    readonly step: number;
    readonly sources: readonly ParameterSource[];
  }
  | { readonly type: "record"; readonly record: RunRecord }
  /** The run is over, `finished` or unable to continue: flush, close, exit. */
  | { readonly type: "finish"; readonly finished: boolean; readonly reason: string };

export const send = (
  to: NodeId,
  message: HubMessage,
  attachments: readonly Attachment[] = [],
): OrchestratorEffect => ({ type: "send", to, message, attachments });

export const record = (value: RunRecord): OrchestratorEffect => ({ type: "record", record: value });

export function reject(node: NodeId, fault: Fault): OrchestratorEffect[] {
  return [
    send(node, { type: "reject", fault }),
    record({ type: "faultSeen", node, code: fault.code, detail: fault.detail }),
  ];
}

export function releaseEffect(refs: readonly BlobRef[]): OrchestratorEffect[] {
  return refs.length === 0 ? [] : [{ type: "release", refs }];
}
