/**
 * Events of a run for people and programs: `--json`, the record log, core/view. Published field names stay. No machine
 * reads a record back.
 */

import type { Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { GradientSquares } from "../score/verdict.ts";
import type { LoadingPart } from "./message.ts";

/** Reason of a `nodeLost` whose node is back. */
export const joinedAnew = "it joined anew";

type OwnerAction = "pause" | "resume" | "kick" | "admit" | "rate" | "stop" | "stopAfterRound";

export type RunRecord =
  | { type: "runStarted"; step: number; round: number; stages: number; miners: number }
  | { type: "nodeJoined"; node: NodeId; role: "miner" | "validator"; adapter: string }
  | { type: "nodeAssigned"; node: NodeId; stage: StageIndex; round: number }
  | { type: "nodeLoading"; node: NodeId; stage: StageIndex; part: LoadingPart; percent: number }
  | { type: "nodeReady"; node: NodeId; stage: StageIndex; round: number; parameters: string; optimizer?: "empty" }
  | { type: "nodeResumed"; node: NodeId; stage: StageIndex; tasksReissued: number }
  | { type: "nodeMoved"; node: NodeId; from: StageIndex; to: StageIndex }
  | {
    type: "nodeLost";
    node: NodeId;
    reason: string;
    tasksReissued: number;
    tasksKept: number; // committed tasks of the open step still count
    tasksLost?: number; // accepted tasks of the open round that are in no other parameters; absent: none
    expelled?: true;
  }
  /** All stages without a connected miner, when that changes. */
  | { type: "stagesUnserved"; stages: readonly StageIndex[] }
  | { type: "taskReleased"; task: TaskId; node: NodeId; reason: string }
  | {
    type: "taskFinished";
    task: TaskId;
    node: NodeId;
    stage: StageIndex;
    direction: Direction;
    microbatch: MicrobatchId;
    sentMs?: number; // after the step opened; earlier versions lack it, as the next two
    tookMs?: number; // from lease to result
    computeMs?: number; // of these, by the miner's report
  }
  | {
    type: "stepClosed";
    step: number; // closed steps
    steps: number;
    round: number;
    loss: number; // nats per token
    learningRate: number;
    gradientNorm: number;
    clipFactor: number;
    tokens: number;
    stepMs: number;
  }
  | {
    type: "stageRestored";
    round: number;
    stage: StageIndex;
    from: "stored" | "replica" | "checkpoint" | "neighbours" | "initial";
  }
  | { type: "roundEndsEarly"; round: number; stage: StageIndex; node: NodeId; step: number } // the node leaves
  | { type: "rewound"; step: number; toStep: number; tokens: number } // the round's parameters are lost
  | {
    type: "mergeRetaken"; // rollback to the last good round's first step, the open one's, or a checkpoint
    because: "lossJumped" | "madeUpWires" | "payloadMissing" | "parametersLost" | "minersLost";
    round: number;
    step: number;
    tokens: number; // no longer counted
    suspects: readonly NodeId[];
    /** The causing stages, for payloadMissing, minersLost and parametersLost. */
    stages?: readonly { stage: StageIndex; reason: string }[];
  }
  | { type: "mergePhase"; round: number; stage: StageIndex; phase: "committing" | "reducing" | "applying" | "agreed" }
  | {
    type: "mergeLate"; // the stage continues without it
    round: number;
    stage: StageIndex;
    node: NodeId;
    phase: "committing" | "reducing" | "applying" | "agreed" | "uploading";
  }
  | { type: "sliceDisputed"; round: number; stage: StageIndex; slice: number; liar: NodeId | null }
  | {
    type: "roundMerged";
    round: number; // the round that begins with these hashes
    stages: { stage: StageIndex; parameters: string; replicas: number; agree: boolean }[];
    tasksLost?: number; // accepted tasks that no payload contained; absent: none
    bytesPerMiner: number; // payload and reduced slices, mean over miners
    mergeMs: number;
    waitedMs?: number; // of these, for audits
    nextSteps?: number; // where a round's length is measured
    draws: string; // revealed key of the last round's random sampling, hexadecimal
  }
  | { type: "checkpointWritten"; round: number; step: number; folder: string }
  | { type: "evaluated"; round: number; validator: NodeId; loss: number; tokens: number }
  | {
    type: "verdict";
    round: number;
    validator: NodeId;
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
  | { type: "resumed"; step: number; round: number; nodes: number; miners?: number } // of the orchestrator
  | { type: "ownerActed"; action: OwnerAction; node?: NodeId; learningRate?: number }
  | { type: "runPaused"; text: string } // the orchestrator's disk is full
  | { type: "runContinued"; pausedMs: number }
  /** Rounds were lost in a row; the next attempt waits this long. */
  | { type: "trainingHalted"; text: string; retryMs: number }
  | { type: "trainingRetried"; haltedMs: number }
  | { type: "faultSeen"; node: NodeId | null; code: string; detail: string }
  | { type: "blamed"; node: NodeId; code: string; detail: string } // proven; a few ban
  | { type: "warning"; text: string }
  | { type: "runFinished"; step: number; finished: boolean; reason: string };
