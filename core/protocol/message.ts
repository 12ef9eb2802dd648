/**
 * Every message between a node (miner, validator) and the orchestrator, version PROTOCOL_VERSION of the protocol.
 *
 * Owns: the two closed unions and each message's raw segments. Out of scope: bytes and checks of untrusted values
 * (net/messages), validators' answers (audit_messages.ts), a merge's messages (merge_messages.ts). A message with
 * tensors lists them only in its comment: segment i of the frame is the i-th listed one, and the receiver hashes what
 * it got. Bulk data travels as blobs over HTTP and is named here by BlobRef. A changed shape or meaning needs a new
 * PROTOCOL_VERSION.
 */

import type {
  Evaluated,
  GradientClaimed,
  GradientRepeated,
  Replayed,
  RequestFailed,
  WorkReport,
} from "./audit_messages.ts";
import type {
  ApplyMerge,
  MergeApplied,
  MergeFailed,
  ParametersUploaded,
  PayloadCommitted,
  ReduceSlice,
  SliceReduced,
  StartMerge,
  UploadParameters,
} from "./merge_messages.ts";
import type { Notice } from "./notice.ts";
import type { RunConfig } from "../config/config.ts";
import type { Fault } from "../fault.ts";
import type { InitialSource, StoredSource } from "./stored_source.ts";
import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";

export const PROTOCOL_VERSION = 21;

export type Role = "miner" | "validator";

/** A node that serves blobs at a base URL: requests to it are signed for `node`. */
export interface Peer {
  readonly node: NodeId;
  readonly url: string;
  /** The orchestrator's permission to copy the stage, presented to the peer; its shell writes it. */
  readonly pass: string | null;
}

/** A stage's parameters: generated from the run's seed, fetched by hash, or derived (stored_source.ts). */
export type ParameterSource = InitialSource | StoredSource;

/** The parameters of a task: a round's, or those that a miner opened (core/update/shown_change.ts). */
export type ReplaySource =
  | ParameterSource
  | { readonly type: "moved"; readonly from: ParameterSource; readonly change: BlobRef };

// ------------------------------------------------------------------------------------------- node to orchestrator
/** What a miner still holds of an assignment after its session was lost. */
export interface Holding {
  readonly assignment: number;
  readonly round: number; // whose parameters it began with
  readonly step: number | null; // of the last header it applied that counted tasks; null: none since the assignment
  readonly tasks: readonly TaskId[]; // whose gradients it has accumulated, in order
}

/** First message of a session. A node that rejoins states what it holds, and may keep it. */
export interface Join {
  readonly type: "join";
  readonly role: Role;
  readonly adapter: string; // for people
  readonly previousStage: StageIndex | null; // whose optimizer state this node still has
  readonly holding: Holding | null;
  readonly listens: string | null; // base URL where peers may fetch its parameters
}

/**
 * The parts of loading a stage, in this order: values are generated from the seed or fetched, then moved to the device.
 */
export const loadingParts = ["making", "fetching", "placing"] as const;
export type LoadingPart = typeof loadingParts[number];

/** Progress of that part of the assignment. */
export interface Loading {
  readonly type: "loading";
  readonly assignment: number;
  readonly part: LoadingPart;
  readonly percent: number; // whole ones, 0 to 100
}

/** The assigned stage is loaded and has been run once. */
export interface Ready {
  readonly type: "ready";
  readonly assignment: number;
  readonly parameters: BlobRef;
  readonly optimizer?: "empty"; // for trained parameters: its state was lost, or the node is new
}

/** Segments: forward and backward: [output wire]; head's backward: none; turnaround: [gradient], none when K = 1. */
export interface TaskDone {
  readonly type: "taskDone";
  readonly task: TaskId;
  readonly losses: readonly number[] | null; // turnaround: mean loss of each sequence, nats per token
  readonly computeMs: number;
}

/** The assigned stage could not be fetched or loaded. */
export interface LoadFailed {
  readonly type: "loadFailed";
  readonly assignment: number;
  readonly fault: Fault;
}

export interface TaskFailed {
  readonly type: "taskFailed";
  readonly task: TaskId;
  readonly fault: Fault;
}

/** The gradient over exactly the tasks of `sealStep` is complete; squareSum is of the plain sum over tasks. */
export interface StepSealed {
  readonly type: "stepSealed";
  readonly step: number;
  readonly request: number; // which `sealStep` of the step this answers
  readonly tasks: number;
  readonly gradientSquareSum: number;
  readonly root: string; // over `delivered` of the request: core/statements/work_tree.ts
  readonly signature: string; // of a statement (core/statements)
}

/**
 * The parameters that `applyStep` asked for, which the step's tasks used, as their difference from the round's start.
 */
export interface StateShown {
  readonly type: "stateShown";
  readonly round: number;
  readonly step: number;
  readonly change: BlobRef; // in the blob store
}

/** The miner was asked to stop and asks whether it may go. It stays until the answer, unless that takes too long. */
interface AskToLeave {
  readonly type: "askToLeave";
}

interface Leaving {
  readonly type: "leaving";
  readonly reason: string;
}

export type NodeMessage =
  | Join
  | Loading
  | Ready
  | LoadFailed
  | TaskDone
  | TaskFailed
  | StepSealed
  | StateShown
  | PayloadCommitted
  | SliceReduced
  | MergeApplied
  | ParametersUploaded
  | MergeFailed
  | Evaluated
  | Replayed
  | GradientRepeated
  | RequestFailed
  | AskToLeave
  | Leaving;

// ------------------------------------------------------------------------------------------- orchestrator to node

/** `isKept`: the node continues with what it holds; otherwise it drops that and waits for `assign`. */
export interface Welcome {
  readonly type: "welcome";
  readonly config: RunConfig;
  readonly layersOfStages: readonly number[];
  readonly isKept: boolean;
  readonly shows: readonly number[]; // steps of the open round, in case the header that asked for them was lost
}

/**
 * Load this stage, from the named peers if any, otherwise from the orchestrator; answered by `ready`. The node drops
 * what it had.
 */
export interface Assign {
  readonly type: "assign";
  readonly assignment: number; // grows with every assignment of the run
  readonly stage: StageIndex;
  readonly round: number;
  readonly source: ParameterSource;
  readonly peers: readonly Peer[]; // replicas that serve it
}

/** Segments: forward [input]; turnaround [input, targets]; backward [input, gradient]. Tokens and targets are u32 (B, T). */
export interface RunTask {
  readonly type: "runTask";
  readonly task: TaskId;
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly step: number;
  readonly trace?: string; // the lease's W3C traceparent, written by the orchestrator's shell; absent: not traced
}

/** These leases are over; drop what has not begun. */
interface CancelTasks {
  readonly type: "cancelTasks";
  readonly tasks: readonly TaskId[];
}

/** Bring the accumulated gradient to exactly these tasks (replaying from the log if need be) and answer `stepSealed`. */
interface SealStep {
  readonly type: "sealStep";
  readonly round: number;
  readonly step: number;
  readonly request: number; // increases with every request of the step
  readonly tasks: readonly TaskId[];
  readonly delivered: readonly TaskId[]; // results to sign for, in this order
}

/** The step header. `tasks` 0: none of this node's work counts; zero the gradient and take no step. */
interface ApplyStep {
  readonly type: "applyStep";
  readonly step: number;
  readonly tasks: number;
  readonly learningRate: number;
  readonly clipFactor: number;
  readonly shows: boolean; // the miner is drawn: it opens its parameters as they are before the step, by `stateShown`
}

/**
 * Answers `askToLeave`. `isNeeded`: the round ends with the open step, and its merge needs this miner's work of the
 * round.
 */
export interface LeaveAnswered {
  readonly type: "leaveAnswered";
  readonly isNeeded: boolean;
}

/** Segments: [inputs, targets], u32 (sequences, T) each. */
export interface Evaluate {
  readonly type: "evaluate";
  readonly request: number;
  readonly round: number;
  readonly sources: readonly ParameterSource[]; // one per stage
  readonly isTrial: boolean; // a leave-one-in evaluation: one stage is as a payload leaves it
}

/** Segments: [input, targets or gradient where the direction has one, claimed output where it has one]. */
export interface Replay {
  readonly type: "replay";
  readonly request: number;
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly losses: readonly number[] | null;
  readonly source: ReplaySource;
}

/**
 * Add up the gradient of these tasks, which a miner committed for a step. It comes in parts, one after another: each is
 * answered before the next one is sent. The committed norm follows after the answer, in `gradientClaimed`. Segments:
 * [input, targets or gradient] of each task of the part.
 */
export interface RepeatGradient {
  readonly type: "repeatGradient";
  readonly request: number; // every part has its own
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // the first of all, which names the gradient
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly first: number; // tasks in the parts before; 0: begin with a gradient of zero
  readonly isLast: boolean;
  readonly source: ReplaySource;
}

interface Reject {
  readonly type: "reject";
  readonly fault: Fault;
}

export interface Stop {
  readonly type: "stop";
  readonly finished: boolean;
  readonly reason: string;
}

export type HubMessage =
  | Welcome
  | Assign
  | RunTask
  | CancelTasks
  | SealStep
  | ApplyStep
  | StartMerge
  | ReduceSlice
  | ApplyMerge
  | LeaveAnswered
  | UploadParameters
  | Evaluate
  | Replay
  | RepeatGradient
  | GradientClaimed
  | WorkReport
  | Notice
  | Reject
  | Stop;
