/** The miner machine's events and effects. The shell holds a message's segments until `release` names them. */

import type { ChainConfig, RunConfig } from "../config/config.ts";
import type { Fault, RefusedUpload } from "../fault.ts";
import type { BlobRef, Direction, StageIndex, TaskId } from "../ids.ts";
import type { Subject } from "../statements/findings.ts";
import type { HubMessage, LoadingPart, NodeMessage, ParameterSource, Peer } from "../protocol/message.ts";
import type { Slice, WeightedPayload } from "../protocol/merge_messages.ts";
import type { Notice } from "../protocol/notice.ts";

/** A task of the gradient, and the inputs to repeat it. */
export interface LoggedTask {
  readonly task: TaskId;
  readonly direction: Direction;
  readonly input: BlobRef;
  readonly second: BlobRef; // targets of a turnaround, gradient of a backward
}

export interface LoadStage {
  readonly type: "loadStage";
  readonly config: RunConfig;
  readonly layersOfStages: readonly number[];
  readonly stage: StageIndex;
  readonly round: number;
  readonly source: ParameterSource;
  readonly peers: readonly Peer[];
}

export type MinerWork =
  | LoadStage
  | {
    readonly type: "runTask";
    readonly direction: Direction;
    readonly input: BlobRef;
    readonly second: BlobRef | null;
  }
  /** The squared norm of the accumulated gradient, or of one recomputed from `replay`. */
  | { readonly type: "sealGradients"; readonly replay: readonly LoggedTask[] | null }
  | { readonly type: "applyStep"; readonly learningRate: number; readonly gradientScale: number }
  | { readonly type: "zeroGradients" }
  /** `uploadState` stores the copy's change since the round's start, beside the device's work. */
  | { readonly type: "copyState"; readonly round: number; readonly step: number }
  | { readonly type: "uploadState"; readonly round: number; readonly step: number }
  | { readonly type: "formPayload"; readonly slices: readonly Slice[] }
  | { readonly type: "reduceSlice"; readonly inputs: readonly WeightedPayload[] }
  /** `round` begins. Without slices, the parameters return to the round's start. */
  | { readonly type: "applyMerge"; readonly round: number; readonly slices: readonly BlobRef[] }
  | { readonly type: "uploadParameters" };

export type MinerResult =
  | { readonly type: "loadStage"; readonly parameters: BlobRef; readonly localSteps: number }
  | {
    readonly type: "runTask";
    readonly output: BlobRef | null; // held for the machine
    readonly losses: readonly number[] | null;
    readonly computeMs: number;
  }
  | { readonly type: "sealGradients"; readonly squareSum: number }
  | { readonly type: "applyStep" }
  | { readonly type: "zeroGradients" }
  | { readonly type: "copyState" }
  | { readonly type: "uploadState"; readonly change: BlobRef }
  | { readonly type: "formPayload"; readonly slices: readonly BlobRef[]; readonly hash: string } // over their hashes
  | { readonly type: "reduceSlice"; readonly result: BlobRef }
  | { readonly type: "applyMerge"; readonly parameters: BlobRef; readonly momentum: BlobRef | null }
  | { readonly type: "uploadParameters"; readonly parameters: BlobRef; readonly momentum: BlobRef | null };

export type MinerEvent =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" }
  | { readonly type: "messageReceived"; readonly message: HubMessage; readonly segments: readonly BlobRef[] }
  | { readonly type: "workDone"; readonly job: number; readonly result: MinerResult }
  | { readonly type: "workFailed"; readonly job: number; readonly fault: Fault }
  | { readonly type: "loadProgressed"; readonly part: LoadingPart; readonly bytes: { done: number; total: number } }
  | { readonly type: "stopRequested"; readonly reason: string; readonly atOnce?: boolean }
  | { readonly type: "tick" };

/** For the miner's screen and `--json`. Published field names stay. */
export type MinerRecord =
  | { type: "joined"; resumed: boolean }
  | { type: "welcomed"; name: string; size: string; chain: ChainConfig }
  | { type: "offline" }
  | { type: "kept"; stage: StageIndex; round: number; tasks: number } // a new session, nothing lost
  | { type: "stageAssigned"; stage: StageIndex; round: number }
  | { type: "stageLoading"; stage: StageIndex; round: number; part: LoadingPart; bytes: number; totalBytes: number }
  | { type: "stageLoaded"; stage: StageIndex; round: number; parameters: string; optimizer?: "empty" }
  | { type: "loadFailed"; stage: StageIndex; code: string; detail: string }
  | { type: "taskComputed"; task: TaskId; direction: Direction; computeMs: number; loss: number | null }
  | { type: "stepApplied"; step: number; tasks: number; replayed: boolean }
  | { type: "roundMerged"; round: number; parameters: string }
  | { type: "refused"; code: string; detail: string }
  | { type: "uploadFailed"; round: number; upload: RefusedUpload }
  | { type: "handingIn"; round: number; mostMs: number } // leaves after the merge of its work, or this time
  | { type: "handedIn"; round: number; isMerged: boolean } // false: out of time
  | Notice
  | { type: "stopped"; finished: boolean; reason: string };

export type MinerEffect =
  /** Sending does not release attachments. */
  | {
    readonly type: "send";
    readonly message: NodeMessage;
    readonly attachments: readonly BlobRef[];
    readonly signs?: Subject; // signed by the shell
  }
  | { readonly type: "release"; readonly refs: readonly BlobRef[] }
  | { readonly type: "perform"; readonly job: number; readonly work: MinerWork }
  | { readonly type: "record"; readonly record: MinerRecord }
  /** Flush, then exit. */
  | { readonly type: "finish"; readonly finished: boolean; readonly reason: string };

export const send = (message: NodeMessage, attachments: readonly BlobRef[] = []): MinerEffect => ({
  type: "send",
  message,
  attachments,
});

export const record = (value: MinerRecord): MinerEffect => ({ type: "record", record: value });

export const release = (refs: readonly BlobRef[]): MinerEffect[] =>
  refs.length === 0 ? [] : [{ type: "release", refs }];
