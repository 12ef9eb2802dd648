/**
 * The miner's state. Invariant: at most one device job runs; `log` lists, in order, exactly the tasks whose gradients are in
 * the device's accumulator, with their inputs held until the step is applied.
 */

import type { RunConfig } from "../config/config.ts";
import type { BlobRef, Direction, StageIndex, TaskId } from "../ids.ts";
import type { StateShown } from "../protocol/message.ts";
import type { MergeApplied, Slice } from "../protocol/merge_messages.ts";
import { type ChainLink, chainStart } from "../statements/work_chain.ts";
import type { LoadStage, LoggedTask } from "./event.ts";

/** Queued device work and what its answer needs. */
export type Job =
  | { readonly type: "loadStage"; readonly work: LoadStage; readonly assignment: number }
  | {
    readonly type: "runTask";
    readonly task: TaskId;
    readonly step: number;
    readonly direction: Direction;
    readonly input: BlobRef;
    readonly second: BlobRef | null;
  }
  | {
    readonly type: "sealStep";
    readonly round: number;
    readonly step: number;
    readonly request: number;
    readonly tasks: readonly TaskId[];
    readonly delivered: readonly TaskId[];
  }
  | {
    readonly type: "applyStep";
    readonly step: number;
    readonly tasks: number;
    readonly learningRate: number;
    readonly clipFactor: number;
  }
  | { readonly type: "copyState"; readonly round: number; readonly step: number }
  | { readonly type: "formPayload"; readonly round: number; readonly slices: readonly Slice[] }
  | { readonly type: "applyMerge"; readonly round: number; readonly slices: readonly BlobRef[] };

/** Work beside the device. */
export type SideJob =
  | { readonly type: "reduceSlice"; readonly round: number; readonly edition: number; readonly slice: number }
  | { readonly type: "uploadParameters"; readonly round: number }
  | { readonly type: "uploadState"; readonly round: number; readonly step: number };

export interface MinerState {
  readonly adapter: string;
  readonly listens: string | null; // where peers may fetch this node's parameters
  previousStage: StageIndex | null;
  phase: "idle" | "joining" | "joined" | "stopped"; // joining: from a new session to its welcome
  config: RunConfig | null;
  layersOfStages: readonly number[];
  stage: StageIndex | null;
  assignment: number | null; // of the loaded stage
  round: number;
  countedStep: number | null; // of the last header that counted tasks of this assignment
  merged: MergeApplied | null; // the last merge's answer, in case it is requested again
  shown: StateShown[]; // of this round and the one before, in case they were lost with their session
  unsent: { readonly round: number; readonly step: number }[]; // states to be opened whose upload failed
  retryAtMs: number | null; // of these
  isLinked: boolean;
  openStep: number | null; // the last one with a task for this assignment
  closedStep: number | null; // the last one with a header
  isMerging: boolean;
  leaving: Leaving | null;
  isRamping: boolean; // began with empty moments and with trained parameters
  localSteps: number;
  readonly queue: Job[];
  running: RunningJob | null;
  readonly side: Map<number, SideJob>;
  jobs: number;
  log: LoggedTask[];
  wasReplayed: boolean; // in the open step
  delivered: Delivered; // what it may be asked to sign for
  head: string; // of the chain over the steps of this assignment: core/statements/work_chain.ts
  sealedLink: ChainLink | null; // the next one, once a header counts the step
}

/** The miner was asked to stop, and leaves as soon as nothing is pending: leaving.ts. */
export interface Leaving {
  readonly reason: string;
  readonly step: number | null; // the open one at that time
  untilMs: number;
  answer: "awaited" | "free" | "needed"; // by the orchestrator
  readonly round: number;
}

/** Hashes of a step's results (core/statements), by task. */
export interface Delivered {
  readonly step: number;
  readonly hashes: Map<TaskId, string>;
}

export interface RunningJob {
  readonly id: number;
  readonly job: Job;
  isObsolete: boolean; // its stage was dropped: the result is discarded
  isUntold: boolean; // requested in an earlier session: the result is booked, the orchestrator asks again
  readonly held: BlobRef[]; // log segments it may still read although the log was dropped
}

export interface OpenMinerOptions {
  readonly adapter: string;
  readonly previousStage: StageIndex | null;
  readonly listens?: string | null;
}

export function openMiner(options: OpenMinerOptions): MinerState {
  return {
    adapter: options.adapter,
    listens: options.listens ?? null,
    previousStage: options.previousStage,
    phase: "idle",
    config: null,
    layersOfStages: [],
    stage: null,
    assignment: null,
    round: 0,
    countedStep: null,
    merged: null,
    shown: [],
    unsent: [],
    retryAtMs: null,
    isLinked: false,
    openStep: null,
    closedStep: null,
    isMerging: false,
    leaving: null,
    isRamping: false,
    localSteps: 0,
    queue: [],
    running: null,
    side: new Map(),
    jobs: 0,
    log: [],
    wasReplayed: false,
    delivered: { step: 0, hashes: new Map() },
    head: chainStart,
    sealedLink: null,
  };
}
