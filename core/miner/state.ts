/**
 * The miner's state. At most one device job runs. `log` lists in order the tasks of the device's accumulated gradient;
 * their inputs are held until the step is applied.
 */

import type { RunConfig } from "../config/config.ts";
import type { BlobRef, Direction, StageIndex, TaskId } from "../ids.ts";
import type { StateShown } from "../protocol/message.ts";
import type { MergeApplied, Slice } from "../protocol/merge_messages.ts";
import { type ChainLink, chainStart } from "../statements/work_chain.ts";
import type { LoadStage, LoggedTask } from "./event.ts";

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

export type SideJob =
  | { readonly type: "reduceSlice"; readonly round: number; readonly edition: number; readonly slice: number }
  | { readonly type: "uploadParameters"; readonly round: number }
  | { readonly type: "uploadState"; readonly round: number; readonly step: number };

export interface MinerState {
  readonly adapter: string;
  readonly listens: string | null; // where peers fetch parameters
  previousStage: StageIndex | null;
  phase: "idle" | "joining" | "joined" | "stopped"; // joining: until the welcome of a new session
  config: RunConfig | null;
  layersOfStages: readonly number[];
  stage: StageIndex | null;
  assignment: number | null;
  round: number;
  countedStep: number | null; // last header that counted tasks of this assignment
  merged: MergeApplied | null; // last answer, in case it is requested again
  shown: StateShown[]; // of this round and the last, in case they were lost
  unsent: { readonly round: number; readonly step: number }[]; // opened parameters whose upload failed
  retryAtMs: number | null;
  isLinked: boolean;
  openStep: number | null; // last step with a task of this assignment
  closedStep: number | null; // last step with a header
  isMerging: boolean;
  leaving: Leaving | null;
  isRamping: boolean; // began with empty moments beside trained parameters
  localSteps: number;
  readonly queue: Job[];
  running: RunningJob | null;
  readonly side: Map<number, SideJob>;
  jobs: number;
  log: LoggedTask[];
  wasReplayed: boolean;
  delivered: Delivered; // what it may be asked to sign
  head: string; // of the chain over this assignment's steps (core/statements/work_chain.ts)
  sealedLink: ChainLink | null; // next link, once a header counts the step
}

/** See leaving.ts. */
interface Leaving {
  readonly reason: string;
  readonly step: number | null; // open when it was asked
  untilMs: number;
  answer: "awaited" | "free" | "needed"; // of the orchestrator
  readonly round: number;
}

/** Hashes of a step's results (core/statements). */
interface Delivered {
  readonly step: number;
  readonly hashes: Map<TaskId, string>;
}

export interface RunningJob {
  readonly id: number;
  readonly job: Job;
  isObsolete: boolean; // its stage was dropped: discard the result
  isUntold: boolean; // requested in an earlier session: keep the result, send no answer
  readonly held: BlobRef[]; // segments that it may read although the log was dropped
}

interface OpenMinerOptions {
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
