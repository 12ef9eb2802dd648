/**
 * The miner's state. Invariant: at most one device job runs; `log` lists, in order, exactly the tasks whose gradients are in
 * the device's accumulator, with their inputs held until the step is applied.
 */

import type { RunConfig } from "../config/config.ts";
import type { BlobRef, Direction, StageIndex, TaskId } from "../ids.ts";
import type { Slice } from "../protocol/message.ts";
import type { LoggedTask, MinerWork } from "./event.ts";

/** Queued device work and what its answer needs. */
export type Job =
  | { readonly type: "loadStage"; readonly work: MinerWork; readonly assignment: number }
  | {
    readonly type: "runTask";
    readonly task: TaskId;
    readonly direction: Direction;
    readonly input: BlobRef;
    readonly second: BlobRef | null;
  }
  | { readonly type: "sealStep"; readonly step: number; readonly tasks: readonly TaskId[] }
  | {
    readonly type: "applyStep";
    readonly step: number;
    readonly tasks: number;
    readonly learningRate: number;
    readonly clipFactor: number;
  }
  | { readonly type: "formPayload"; readonly round: number; readonly slices: readonly Slice[] }
  | { readonly type: "applyMerge"; readonly round: number; readonly slices: readonly BlobRef[] };

/** Work beside the device. */
export type SideJob =
  | { readonly type: "reduceSlice"; readonly round: number; readonly slice: number }
  | { readonly type: "uploadParameters"; readonly round: number };

export interface MinerState {
  readonly adapter: string;
  previousStage: StageIndex | null;
  phase: "idle" | "joined" | "stopped";
  config: RunConfig | null;
  layersOfStages: readonly number[];
  stage: StageIndex | null;
  round: number;
  isRamping: boolean; // began with empty moments in a run that was under way
  localSteps: number;
  readonly queue: Job[];
  /** `held`: log segments a running job may still read although the log was dropped. */
  running: { id: number; job: Job; isObsolete: boolean; held: BlobRef[] } | null;
  readonly side: Map<number, SideJob>;
  jobs: number;
  log: LoggedTask[];
  wasReplayed: boolean; // in the open step
}

export function openMiner(options: { adapter: string; previousStage: StageIndex | null }): MinerState {
  return {
    adapter: options.adapter,
    previousStage: options.previousStage,
    phase: "idle",
    config: null,
    layersOfStages: [],
    stage: null,
    round: 0,
    isRamping: false,
    localSteps: 0,
    queue: [],
    running: null,
    side: new Map(),
    jobs: 0,
    log: [],
    wasReplayed: false,
  };
}
