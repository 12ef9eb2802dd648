/** The validator machine's events and effects. */

import type { ChainConfig, RunConfig } from "../config/config.ts";
import type { Fault } from "../fault.ts";
import type { BlobRef, Direction, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { HubMessage, NodeMessage, ParameterSource, ReplaySource } from "../protocol/message.ts";
import type { Subject } from "../statements/findings.ts";
import type { GradientSquares } from "../score/verdict.ts";
import type { MinerScore } from "../score/work_score.ts";
import type { Notice } from "../protocol/notice.ts";

export type ValidatorWork =
  | {
    readonly type: "evaluate";
    readonly round: number;
    readonly sources: readonly ParameterSource[];
    readonly inputs: BlobRef;
    readonly targets: BlobRef;
  }
  | {
    readonly type: "replay";
    readonly round: number;
    readonly stage: StageIndex;
    readonly direction: Direction;
    readonly source: ReplaySource;
    readonly losses: readonly number[] | null;
    readonly input: BlobRef;
    readonly second: BlobRef | null;
    readonly claimed: BlobRef | null; // null: only the losses are compared
  }
  | {
    readonly type: "gradient";
    readonly round: number;
    readonly stage: StageIndex;
    readonly direction: Direction;
    readonly source: ReplaySource;
    readonly first: number; // tasks added before; 0: start from zero
    readonly isLast: boolean;
    readonly tasks: readonly { readonly input: BlobRef; readonly second: BlobRef }[];
  };

export type ValidatorResult =
  | { readonly type: "evaluate"; readonly loss: number; readonly tokens: number }
  | {
    readonly type: "replay";
    readonly innovationError: number;
    readonly equalShare: number;
    readonly lossError: number | null;
    readonly beyondRounding: number; // for the orchestrator
    readonly rounding: number; // likewise
  }
  | { readonly type: "gradient"; readonly squareSum: number | null }; // null: not the last part

export type ValidatorEvent =
  | { readonly type: "connected"; readonly resumed: boolean }
  | { readonly type: "disconnected" }
  | { readonly type: "messageReceived"; readonly message: HubMessage; readonly segments: readonly BlobRef[] }
  | { readonly type: "workDone"; readonly job: number; readonly result: ValidatorResult }
  | { readonly type: "workFailed"; readonly job: number; readonly fault: Fault }
  | { readonly type: "stopRequested"; readonly reason: string; readonly atOnce?: boolean }
  | { readonly type: "tick" };

/** For the validator's screen and `--json`. Published field names stay. */
export type ValidatorRecord =
  | { type: "joined"; resumed: boolean }
  | { type: "welcomed"; name: string; size: string; chain: ChainConfig; stages: number }
  | { type: "offline" }
  | Notice
  | { type: "evaluated"; round: number; loss: number; tokens: number }
  | { type: "payloadTried"; round: number; loss: number; tokens: number } // one stage as a payload leaves it
  | {
    type: "verdict";
    round: number;
    miner: NodeId;
    stage: StageIndex;
    task: TaskId;
    passed: boolean;
    innovationError: number;
    equalShare: number;
    lossError: number | null;
    tolerance: number;
    gradient?: GradientSquares; // absent: one task was repeated
  }
  | { type: "scored"; round: number; miners: number; failed: number } // failed: without pay after a failed audit
  | { type: "requestFailed"; code: string; detail: string }
  | { type: "refused"; code: string; detail: string }
  | { type: "stopped"; finished: boolean; reason: string };

export type ValidatorEffect =
  /** `signs`: signed by the shell. */
  | { readonly type: "send"; readonly message: NodeMessage; readonly signs?: Subject }
  | { readonly type: "release"; readonly refs: readonly BlobRef[] }
  | {
    readonly type: "perform";
    readonly job: number;
    readonly config: RunConfig;
    readonly layersOfStages: readonly number[];
    readonly work: ValidatorWork;
  }
  | { readonly type: "record"; readonly record: ValidatorRecord }
  /** For the chain. `isAnyDue` false: all are zero, which is normal. */
  | {
    readonly type: "score";
    readonly round: number;
    readonly scores: readonly MinerScore[];
    readonly isAnyDue: boolean;
  }
  | { readonly type: "finish"; readonly finished: boolean; readonly reason: string };
