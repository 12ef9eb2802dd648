/**
 * The orchestrator's whole state: plain data, mutated only by the modules of this folder, no tensors, no clock.
 *
 * Everything that is looked at for every event has an index here (replicas of a stage, who waits for a stage, alarms by time),
 * so that an event costs the same with ten miners and with ten thousand. Invariants are checked in invariants.ts.
 */

import type { RunConfig } from "../config/config.ts";
import type { NodeId, StageIndex, TaskId } from "../ids.ts";
import type { StageSpec } from "../model/spec.ts";
import { keyOf, openStream, type Stream } from "../prng.ts";
import type { ParameterSource, Role } from "../protocol/message.ts";
import type { AuditWork } from "./audit_state.ts";
import { addRequest } from "./audit_state.ts";
import type { MergeWork, UploadWork } from "./merge_state.ts";
import { type ItemQueue, newQueue, type StepWork } from "./step_state.ts";

/** waiting: no stage yet; loading: `assign` sent; active: holds the round's parameters and takes tasks. */
export type MemberStatus = "waiting" | "loading" | "active";

/** The last step header a member got that counted tasks of its own. */
export interface SentHeader {
  readonly step: number;
  readonly tasks: number;
  readonly learningRate: number;
  readonly clipFactor: number;
  readonly before: number | null; // step of the one before it
}

export interface Member {
  readonly node: NodeId;
  readonly role: Role;
  readonly adapter: string;
  readonly listens: string | null; // where peers may fetch its parameters
  previousStage: StageIndex | null;
  status: MemberStatus;
  stage: StageIndex | null; // null: waiting, or a validator
  assignment: number; // of the last `assign`; orders the replicas of a stage
  loadingRound: number | null; // of the parameters it was told to load
  loadFailures: number; // in a row
  graceUntilMs: number | null; // disconnected until then at most
  readonly leases: Set<TaskId>;
  leasedUnits: number; // of work, see unitsOf
  results: number; // behind `unitMs`
  unitMs: number | null; // measured time of one unit; null: nothing measured yet
  lastResultMs: number;
  busyMs: number; // expected busy time handed to it, on its stage's clock (interleaved weighted round robin)
  isReady: boolean; // has a valid place in its stage's `ready`
  own: ItemQueue; // queued items that only it should take
  stepTasks: TaskId[]; // accepted gradient tasks of the open step, in the order they came
  roundTasks: number; // gradient tasks of the round's closed steps: the weight in the merge
  header: SentHeader | null;
}

/** Valid while its member is ready and `busyMs` is still the member's. */
export interface ReadyPlace {
  readonly busyMs: number;
  readonly member: Member;
}

/** The active replicas of a stage. */
export interface StageRoster {
  readonly members: Member[]; // in slot order: by assignment
  readonly ready: ReadyPlace[]; // heap by busyMs: connected, with a free place; stale entries are skipped
  readonly due: Set<Member>; // ready, and its own queue may hold something for it
  readonly backlog: Set<Member>; // whose own queue is not empty
  present: number; // connected ones
  assigned: number; // members whose stage it is, loading ones included
  clockMs: number; // busyMs of the one that got work last
  unitMs: number | null; // mean of what was measured here
  readonly pace: { measured: number; unitsPerMs: number }; // members with a `unitMs`, and what they do together
}

export type Alarm =
  | { readonly atMs: number; readonly type: "lease"; readonly task: TaskId }
  | { readonly atMs: number; readonly type: "seal"; readonly node: NodeId }
  | { readonly atMs: number; readonly type: "silence"; readonly node: NodeId }
  | { readonly atMs: number; readonly type: "loading"; readonly node: NodeId; readonly assignment: number };

/** What each miner did in a merged round, in forwards of a stage; a gradient task is three. */
export interface RoundReport {
  readonly round: number;
  readonly units: ReadonlyMap<NodeId, number>;
}

export type Phase = "gathering" | "training" | "merging" | "closing" | "finished";

export interface Counters {
  microbatchesIssued: number;
  microbatchesCredited: number;
  reLeases: number; // tasks handed out again after a loss, a failure or a deadline
  speculations: number; // tasks handed to a second miner while the first still worked
  tokens: number;
  disagreements: number; // replicas whose hash was not the agreed one
  wireBytesForward: number;
  wireTokensForward: number;
  wireBytesBackward: number;
  wireTokensBackward: number;
  mergeBytes: number; // uploaded payloads and reduced slices, summed over miners
  mergeMiners: number; // miner-rounds in that sum
  restarts: number; // of the orchestrator
  rewinds: number; // rounds that were begun again as everybody was gone
}

/** What a summary tells of the whole run, over every life of the process. Losses in nats per token. */
export interface RunFacts {
  lossFirst: number | null;
  lossLast: number | null;
  heldOutFirst: number | null;
  heldOutLast: { round: number; loss: number } | null;
  verdictsPassed: number;
  verdictsFailed: number;
}

export interface RoundSources {
  readonly round: number;
  readonly stages: readonly ParameterSource[];
}

export interface OrchestratorState {
  config: RunConfig; // only its number of steps may become another one (restart.ts)
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly stageFloats: readonly number[]; // length of each stage's parameter vector
  readonly stream: Stream;
  phase: Phase;
  gatherUntilMs: number | null;
  closeUntilMs: number | null;
  readonly members: Map<NodeId, Member>;
  readonly rosters: readonly StageRoster[];
  readonly waiting: Set<NodeId>; // connected miners that need an `assign`
  readonly validators: Set<NodeId>;
  readonly expelled: Set<NodeId>; // proven liars
  readonly alarms: Alarm[]; // heap by atMs; stale ones are dropped when they ring
  assignments: number;
  round: number; // of the parameters in use
  roundFirstStep: number;
  step: number; // closed steps
  progress: number; // gradient tasks of the round's closed steps that active members hold: the sum of their roundTasks
  sources: RoundSources; // newest round whose parameters anyone can fetch
  /** Stages whose parameters could not be loaded: the shell looks for them, or only replicas hold them. */
  readonly restoring: Map<StageIndex, "looking" | "held">;
  readonly replaced: Set<StageIndex>; // whose parameters of this round are not those it began with: not audited
  readonly roundUnits: Map<NodeId, number>; // of the open round's closed steps
  readonly reports: RoundReport[]; // of the last merged rounds
  readonly gradientSquares: number[]; // of each stage, squared norm of the last closed step's mean gradient
  retired: RoundSources[]; // older ones that an open audit still needs
  work: StepWork | null;
  merge: MergeWork | null;
  upload: UploadWork | null;
  readonly audit: AuditWork;
  readonly counters: Counters;
  readonly facts: RunFacts;
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
  const audit: AuditWork = { pending: [], running: new Map(), open: new Map(), requests: 0, held: [] };
  addRequest(audit, { type: "evaluate", round: sources.round });
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
    rosters: stages.map(newRoster),
    waiting: new Set(),
    validators: new Set(),
    expelled: new Set(),
    alarms: [],
    assignments: 0,
    round: sources.round,
    roundFirstStep: step,
    step,
    progress: 0,
    sources,
    restoring: new Map(),
    replaced: new Set(),
    roundUnits: new Map(),
    reports: [],
    gradientSquares: stages.map(() => 0),
    retired: [],
    work: null,
    merge: null,
    upload: null,
    audit,
    counters: newCounters(),
    facts: {
      lossFirst: null,
      lossLast: null,
      heldOutFirst: null,
      heldOutLast: null,
      verdictsPassed: 0,
      verdictsFailed: 0,
    },
  };
}

const newRoster = (): StageRoster => ({
  members: [],
  ready: [],
  due: new Set(),
  backlog: new Set(),
  present: 0,
  assigned: 0,
  clockMs: 0,
  unitMs: null,
  pace: { measured: 0, unitsPerMs: 0 },
});

function newCounters(): Counters {
  return {
    microbatchesIssued: 0,
    microbatchesCredited: 0,
    reLeases: 0,
    speculations: 0,
    tokens: 0,
    disagreements: 0,
    wireBytesForward: 0,
    wireTokensForward: 0,
    wireBytesBackward: 0,
    wireTokensBackward: 0,
    mergeBytes: 0,
    mergeMiners: 0,
    restarts: 0,
    rewinds: 0,
  };
}

export function newMember(
  options: Pick<Member, "node" | "role" | "adapter" | "listens" | "previousStage">,
): Member {
  return {
    ...options,
    status: "waiting",
    stage: null,
    assignment: 0,
    loadingRound: null,
    loadFailures: 0,
    graceUntilMs: null,
    leases: new Set(),
    leasedUnits: 0,
    results: 0,
    unitMs: null,
    lastResultMs: 0,
    busyMs: 0,
    isReady: false,
    own: newQueue(),
    stepTasks: [],
    roundTasks: 0,
    header: null,
  };
}

export function tokensPerMicrobatch(config: RunConfig): number {
  return config.train.sequencesPerMicrobatch * config.model.contextLength;
}
