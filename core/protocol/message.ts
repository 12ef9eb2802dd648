/**
 * Every message between a node (miner, validator) and the orchestrator. A changed shape or meaning needs a new
 * PROTOCOL_VERSION. net/messages checks untrusted values.
 *
 * A message's comment lists its tensors: segment i of the frame is the i-th one, and the receiver hashes it. Bulk data
 * travels over HTTP and is named by BlobRef.
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

/** Serves blobs at `url`; requests are signed for `node`. */
export interface Peer {
  readonly node: NodeId;
  readonly url: string;
  /** Permission to copy the stage, written by the orchestrator's shell. */
  readonly pass: string | null;
}

export type ParameterSource = InitialSource | StoredSource;

/** A round's parameters, or those that a miner opened (core/update/shown_change.ts). */
export type ReplaySource =
  | ParameterSource
  | { readonly type: "moved"; readonly from: ParameterSource; readonly change: BlobRef };

// node to orchestrator
/** What a miner still has after its session was lost. */
export interface Holding {
  readonly assignment: number;
  readonly round: number; // that it began with
  readonly step: number | null; // last applied header that counted tasks; null: none since the assignment
  readonly tasks: readonly TaskId[]; // accumulated gradients, in order
}

/** First message of a session. */
export interface Join {
  readonly type: "join";
  readonly role: Role;
  readonly adapter: string; // for people
  readonly previousStage: StageIndex | null; // whose optimizer state it still has
  readonly holding: Holding | null;
  readonly listens: string | null; // base URL for peers
}

/** In this order: generating from the seed, fetching, moving to the device. */
export const loadingParts = ["making", "fetching", "placing"] as const;
export type LoadingPart = typeof loadingParts[number];

export interface Loading {
  readonly type: "loading";
  readonly assignment: number;
  readonly part: LoadingPart;
  readonly percent: number; // whole, 0 to 100
}

/** The stage is loaded and has been run once. */
export interface Ready {
  readonly type: "ready";
  readonly assignment: number;
  readonly parameters: BlobRef;
  readonly optimizer?: "empty"; // beside trained parameters: its state was lost, or the node is new
}

/** Segments: forward, backward [output wire], none for the head's backward; turnaround [gradient], none when K = 1. */
export interface TaskDone {
  readonly type: "taskDone";
  readonly task: TaskId;
  readonly losses: readonly number[] | null; // turnaround: mean of each sequence, nats per token
  readonly computeMs: number;
}

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

/** The gradient over exactly the tasks of `sealStep`; squareSum is of their plain sum. */
export interface StepSealed {
  readonly type: "stepSealed";
  readonly step: number;
  readonly request: number;
  readonly tasks: number;
  readonly gradientSquareSum: number;
  readonly root: string; // over `delivered` of the request (core/statements/work_tree.ts)
  readonly signature: string; // of a statement (core/statements)
}

/** The parameters that the step's tasks used, as their difference from the round's start. */
export interface StateShown {
  readonly type: "stateShown";
  readonly round: number;
  readonly step: number;
  readonly change: BlobRef;
}

/** The miner stays until the answer, unless that takes too long. */
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

// orchestrator to node

/** `isKept`: continue with what the node holds; otherwise drop it and wait for `assign`. */
export interface Welcome {
  readonly type: "welcome";
  readonly config: RunConfig;
  readonly layersOfStages: readonly number[];
  readonly isKept: boolean;
  readonly shows: readonly number[]; // steps of the open round to open, in case their header was lost
}

/** Load this stage, from peers if any. What the node had is void. */
export interface Assign {
  readonly type: "assign";
  readonly assignment: number; // grows within a run
  readonly stage: StageIndex;
  readonly round: number;
  readonly source: ParameterSource;
  readonly peers: readonly Peer[]; // replicas of the stage
}

/**
 * Segments, tokens and targets as u32 (B, T): forward [input]; turnaround [input, targets]; backward [input, gradient].
 */
export interface RunTask {
  readonly type: "runTask";
  readonly task: TaskId;
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly step: number;
  readonly trace?: string; // W3C traceparent of the lease; absent: not traced
}

/** The leases are over: drop what has not begun. */
interface CancelTasks {
  readonly type: "cancelTasks";
  readonly tasks: readonly TaskId[];
}

/** Bring the gradient to exactly these tasks, by repeating the log if need be. */
interface SealStep {
  readonly type: "sealStep";
  readonly round: number;
  readonly step: number;
  readonly request: number; // grows within a step
  readonly tasks: readonly TaskId[];
  readonly delivered: readonly TaskId[]; // results to sign, in this order
}

/** The step header. `tasks` 0: zero the gradient and take no step. */
interface ApplyStep {
  readonly type: "applyStep";
  readonly step: number;
  readonly tasks: number;
  readonly learningRate: number;
  readonly clipFactor: number;
  readonly shows: boolean; // open the parameters from before the step, by `stateShown`
}

/** `isNeeded`: the round ends with the open step, and its merge needs this miner. */
export interface LeaveAnswered {
  readonly type: "leaveAnswered";
  readonly isNeeded: boolean;
}

/** Segments: [inputs, targets], u32 (sequences, T) each. */
export interface Evaluate {
  readonly type: "evaluate";
  readonly request: number;
  readonly round: number;
  readonly sources: readonly ParameterSource[];
  readonly isTrial: boolean; // a leave-one-in evaluation
}

/** Segments: [input, targets or gradient if the direction has one, claimed output if any]. */
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
 * Add up the gradient of these tasks, which a miner committed. Each part is answered before the next is sent;
 * `gradientClaimed` follows the last. Segments: [input, targets or gradient] of each task.
 */
export interface RepeatGradient {
  readonly type: "repeatGradient";
  readonly request: number; // differs per part
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // first of all parts, names the gradient
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly first: number; // tasks in earlier parts; 0: begin with a gradient of zero
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
