/**
 * The orchestrator's whole state: plain data, mutated only by the modules of this folder, no tensors, no clock.
 *
 * Invariants (checked in invariants.ts): every work item of the open step is in exactly one of blocked, queued, leased, done;
 * a leased item's node is an active member that knows the lease; a done backward counts for exactly one member.
 */

import type { RunConfig } from "../config/config.ts";
import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../ids.ts";
import type { StageSpec } from "../model/spec.ts";
import { keyOf, openStream, type Stream } from "../prng.ts";
import type { ParameterSource, Role, Slice } from "../protocol/message.ts";

/** waiting: no stage yet; loading: `assign` sent; active: holds the round's parameters and takes tasks. */
export type MemberStatus = "waiting" | "loading" | "active";

export interface Member {
  readonly node: NodeId;
  readonly role: Role;
  readonly adapter: string;
  readonly previousStage: StageIndex | null;
  status: MemberStatus;
  stage: StageIndex | null; // null: waiting, or a validator
  assignment: number; // of the last `assign`; orders the replicas of a stage
  loadingRound: number | null; // of the parameters it was told to load
  graceUntilMs: number | null; // disconnected until then at most
  readonly leases: Set<TaskId>;
  stepLeases: number; // tasks handed to it in the open step, for an even share
  stepTasks: TaskId[]; // accepted gradient tasks of the open step, in the order they came
  roundTasks: number; // gradient tasks of the round's closed steps: the weight in the merge
}

export type ItemStatus = "blocked" | "queued" | "leased" | "done";

/** One microbatch through one stage in one direction, whoever does it. */
export interface WorkItem {
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  status: ItemStatus;
  attempts: number;
  lease: { task: TaskId; node: NodeId; deadlineMs: number } | null;
  task: TaskId | null; // accepted attempt
  doneBy: NodeId | null;
  avoid: NodeId | null; // whoever let it down last
}

/** A microbatch on its way; `items` in the order of its chain: forwards, turnaround, backwards. */
export interface Flow {
  readonly microbatch: MicrobatchId;
  readonly items: readonly WorkItem[];
  readonly wires: (BlobRef | null)[]; // output of each stage's forward
  readonly gradients: (BlobRef | null)[]; // output of each stage's backward, towards the stage before
  losses: readonly number[] | null;
}

export interface StepWork {
  readonly flows: readonly Flow[];
  readonly queues: WorkItem[][]; // queued items of each stage
  readonly leased: Map<TaskId, WorkItem>;
  left: number; // items not done
  readonly startedMs: number;
  sealed: Map<NodeId, { tasks: number; squareSum: number }> | null; // non-null: sealing
  sealDeadlineMs: number | null;
}

export type Reducer = NodeId | "hub";

export interface SliceWork {
  readonly asked: Reducer[];
  readonly results: Map<Reducer, BlobRef>;
  accepted: BlobRef | null;
}

export interface MergedStage {
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

export interface StageMerge {
  readonly stage: StageIndex;
  phase: "committing" | "reducing" | "applying" | "agreed";
  participants: NodeId[]; // active replicas, in slot order
  readonly weights: Map<NodeId, number>; // of those that contribute
  readonly layout: readonly Slice[];
  readonly payloads: Map<NodeId, readonly BlobRef[]>;
  slices: SliceWork[];
  readonly applied: Map<NodeId, MergedStage>;
  isHubAsked: boolean; // to take the outer step itself
  refereed: MergedStage | null;
  agreed: MergedStage | null;
  deadlineMs: number;
  readonly uploads: { bytes: number };
}

export interface MergeWork {
  readonly stages: readonly StageMerge[];
  readonly startedMs: number;
}

export interface StageUpload {
  readonly stage: StageIndex;
  readonly merged: MergedStage;
  readonly slices: readonly BlobRef[]; // what made it, should every holder be lost
  holders: NodeId[];
  asked: Reducer | null;
  deadlineMs: number; // of the one that was asked
  stored: boolean;
}

/** The new round's parameters on their way from one replica of each stage into the hub's store. */
export interface UploadWork {
  readonly round: number;
  readonly step: number;
  readonly stages: readonly StageUpload[];
  readonly payloads: readonly BlobRef[]; // of the merge, kept until the parameters are stored
  writing: boolean;
}

/** A task of the round's first step that validators repeat; all of it can be recomputed from `source`. */
export interface ReplayTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly input: BlobRef | null; // null: token ids
  readonly gradient: BlobRef | null;
  readonly output: BlobRef;
  readonly losses: readonly number[] | null;
}

export type AuditRequest =
  | { readonly type: "evaluate"; readonly round: number }
  | { readonly type: "replay"; readonly replay: ReplayTask };

export interface AuditWork {
  pending: AuditRequest[];
  readonly running: Map<number, { validator: NodeId; request: AuditRequest }>;
  requests: number;
  held: { round: number; refs: BlobRef[] }[]; // wires of replay tasks
  lossByRound: Map<number, number>;
}

export type Phase = "gathering" | "training" | "merging" | "closing" | "finished";

export interface Counters {
  microbatchesIssued: number;
  microbatchesCredited: number;
  reLeases: number;
  tokens: number;
  disagreements: number; // replicas whose hash was not the agreed one
  wireBytesForward: number;
  wireTokensForward: number;
  wireBytesBackward: number;
  wireTokensBackward: number;
  mergeBytes: number; // uploaded payloads and reduced slices, summed over miners
  mergeMiners: number; // miner-rounds in that sum
}

export interface RoundSources {
  readonly round: number;
  readonly stages: readonly ParameterSource[];
}

export interface OrchestratorState {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly stageFloats: readonly number[]; // length of each stage's parameter vector
  readonly stream: Stream;
  phase: Phase;
  gatherUntilMs: number | null;
  closeUntilMs: number | null;
  readonly members: Map<NodeId, Member>;
  readonly expelled: Set<NodeId>; // proven liars
  assignments: number;
  round: number; // of the parameters in use
  roundFirstStep: number;
  step: number; // closed steps
  sources: RoundSources; // newest round whose parameters anyone can fetch
  retired: RoundSources[]; // older ones that an open audit still needs
  work: StepWork | null;
  merge: MergeWork | null;
  upload: UploadWork | null;
  readonly audit: AuditWork;
  readonly counters: Counters;
}

export interface OpenOptions {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly stageFloats: readonly number[];
  /** From a checkpoint; without it the run begins at step 0 with initial parameters. */
  readonly from?: { readonly step: number; readonly sources: RoundSources };
  readonly nowMs: number;
}

export function openOrchestrator(options: OpenOptions): OrchestratorState {
  const { config, stages } = options;
  const initial: RoundSources = { round: 0, stages: stages.map(() => ({ type: "initial" })) };
  const sources = options.from?.sources ?? initial;
  const step = options.from?.step ?? 0;
  return {
    config,
    stages,
    layersOfStages: options.layersOfStages,
    stageFloats: options.stageFloats,
    stream: openStream(keyOf(config.seed, "orchestrator", sources.round)),
    phase: "gathering",
    gatherUntilMs: options.nowMs + config.swarm.gatherMs,
    closeUntilMs: null,
    members: new Map(),
    expelled: new Set(),
    assignments: 0,
    round: sources.round,
    roundFirstStep: step,
    step,
    sources,
    retired: [],
    work: null,
    merge: null,
    upload: null,
    audit: {
      pending: [{ type: "evaluate", round: sources.round }],
      running: new Map(),
      requests: 0,
      held: [],
      lossByRound: new Map(),
    },
    counters: {
      microbatchesIssued: 0,
      microbatchesCredited: 0,
      reLeases: 0,
      tokens: 0,
      disagreements: 0,
      wireBytesForward: 0,
      wireTokensForward: 0,
      wireBytesBackward: 0,
      wireTokensBackward: 0,
      mergeBytes: 0,
      mergeMiners: 0,
    },
  };
}

/** Active replicas of a stage in slot order, the order of merges and of fixed wiring. */
export function replicasOf(state: OrchestratorState, stage: StageIndex): Member[] {
  const replicas: Member[] = [];
  for (const member of state.members.values()) {
    if (member.stage === stage && member.status === "active") replicas.push(member);
  }
  return replicas.sort((a, b) => a.assignment - b.assignment);
}

export function tokensPerMicrobatch(config: RunConfig): number {
  return config.train.sequencesPerMicrobatch * config.model.contextLength;
}
