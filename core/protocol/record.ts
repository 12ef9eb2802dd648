/**
 * Events of a run as plain facts for people and programs: the lines of `--json`, the record log, the view (core/view).
 *
 * Owns: the closed union. Field names once published stay. Out of scope: decisions; no machine reads a record back.
 */

import type { Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { GradientSquares } from "../score/verdict.ts";
import type { LoadingPart } from "./message.ts";

/** The reason of a `nodeLost` whose node is back with a new session. */
export const joinedAnew = "it joined anew";

/** What a run's owner may do while it runs. */
export type OwnerAction = "pause" | "resume" | "kick" | "admit" | "rate" | "stop" | "stopAfterRound";

export type RunRecord =
  | { type: "runStarted"; step: number; round: number; stages: number; miners: number }
  | { type: "nodeJoined"; node: NodeId; role: "miner" | "validator"; adapter: string }
  | { type: "nodeAssigned"; node: NodeId; stage: StageIndex; round: number }
  | { type: "nodeLoading"; node: NodeId; stage: StageIndex; part: LoadingPart; percent: number } // of that part
  | { type: "nodeReady"; node: NodeId; stage: StageIndex; round: number; parameters: string; optimizer?: "empty" } // for trained parameters
  | { type: "nodeResumed"; node: NodeId; stage: StageIndex; tasksReissued: number } // returned with what it had
  | { type: "nodeMoved"; node: NodeId; from: StageIndex; to: StageIndex } // to a stage that lacks replicas or capacity
  | {
    type: "nodeLost";
    node: NodeId;
    reason: string;
    tasksReissued: number;
    tasksKept: number; // of the open step, committed before: they count
    tasksLost?: number; // accepted gradient tasks of the open round that no other miner's parameters hold; absent: none
    expelled?: true; // for proven faults
  }
  /** All stages without a connected miner, when that changes; the run waits for them. */
  | { type: "stagesUnserved"; stages: readonly StageIndex[] }
  | { type: "taskReleased"; task: TaskId; node: NodeId; reason: string }
  | {
    type: "taskFinished";
    task: TaskId;
    node: NodeId;
    stage: StageIndex;
    direction: Direction;
    microbatch: MicrobatchId;
    sentMs?: number; // after the step was opened; absent, like the next two, in records of earlier versions
    tookMs?: number; // from sending it to its result
    computeMs?: number; // of these, on the device, as reported by the miner
  }
  | {
    type: "stepClosed";
    step: number; // 1-based count of closed steps
    steps: number; // of the whole run
    round: number;
    loss: number; // mean over the step's tokens, nats per token
    learningRate: number;
    gradientNorm: number;
    clipFactor: number;
    tokens: number; // of this step
    stepMs: number;
  }
  | {
    type: "stageRestored";
    round: number;
    stage: StageIndex;
    from: "stored" | "replica" | "checkpoint" | "neighbours" | "initial";
  }
  | { type: "roundEndsEarly"; round: number; stage: StageIndex; node: NodeId; step: number } // after this step: the miner leaves, and holds most of its stage's work of the round
  | { type: "rewound"; step: number; toStep: number; tokens: number } // no node has the round's parameters any more
  | {
    type: "mergeRetaken"; // back to the first step of the last good round, of the open one, or of an earlier checkpoint
    because: "lossJumped" | "madeUpWires" | "payloadMissing" | "parametersLost" | "minersLost";
    round: number; // that begins with its parameters
    step: number;
    tokens: number; // that no longer count
    suspects: readonly NodeId[]; // excluded from it
    /** The causing stages, with payloadMissing, minersLost and parametersLost. */
    stages?: readonly { stage: StageIndex; reason: string }[];
  }
  | { type: "mergePhase"; round: number; stage: StageIndex; phase: "committing" | "reducing" | "applying" | "agreed" }
  | {
    type: "mergeLate"; // the stage continues without this answer
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
    tasksLost?: number; // accepted gradient tasks of the round that no payload contained; absent: none
    bytesPerMiner: number; // uploaded: payload and reduced slices, mean over the miners
    mergeMs: number;
    waitedMs?: number; // of these: for audits of the round
    nextSteps?: number; // of the round that begins, where its length is measured
    draws: string; // the secret key for the random sampling of the previous round's reducers and audits, in hexadecimal
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
    gradient?: GradientSquares; // of a gradient's norm; absent: of a single task
  }
  | { type: "resumed"; step: number; round: number; nodes: number; miners?: number } // the orchestrator itself, from its journal; `miners`: how many more it needs
  | { type: "ownerActed"; action: OwnerAction; node?: NodeId; learningRate?: number } // `node`: removed or readmitted
  | { type: "runPaused"; text: string } // the orchestrator's disk is full
  | { type: "runContinued"; pausedMs: number } // it has room again
  /** Rounds were lost in a row; the next attempt follows after this time. */
  | { type: "trainingHalted"; text: string; retryMs: number }
  | { type: "trainingRetried"; haltedMs: number }
  | { type: "faultSeen"; node: NodeId | null; code: string; detail: string }
  | { type: "blamed"; node: NodeId; code: string; detail: string } // a proven fault: a few of them ban
  | { type: "warning"; text: string }
  | { type: "runFinished"; step: number; finished: boolean; reason: string };
