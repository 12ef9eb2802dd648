/**
 * The orchestrator's whole state: plain data, mutated only by this folder. Everything consulted on every event has an
 * index, so that an event costs the same with ten miners as with ten thousand.
 */

import type { RunConfig } from "../config/config.ts";
import { derivedKey, type SecretKey, secretKeyOf } from "../chacha.ts";
import type { RoundReport } from "../score/work_score.ts";
import type { NodeId, StageIndex, TaskId } from "../ids.ts";
import { rememberedRates } from "../update/payload/residual_reach.ts";
import type { StageSpec } from "../model/spec.ts";
import { forwardUnits } from "../model/task_flops.ts";
import { openStream, type Stream } from "../prng.ts";
import type { ParameterSource, Role } from "../protocol/message.ts";
import type { Notice } from "../protocol/notice.ts";
import { chainStart } from "../statements/work_chain.ts";
import { addRequest, newAuditWork } from "./audit/audit_queue.ts";
import { type AuditWork, evaluationOf } from "./audit/audit_state.ts";
import { type Counters, newCounters, newFacts, type RunFacts } from "./run_facts.ts";
import type { MarkCounts } from "./marks.ts";
import type { CatchUp } from "./members/catch_up.ts";
import type { Standing, Talk } from "./members/standing.ts";
import { type Interval, openInterval } from "../update/interval.ts";
import { type LossState, newLosses } from "./merge/losses/loss_state.ts";
import type { MergeWork, Trail, UploadWork } from "./merge/merge_state.ts";
import type { StepOutcome } from "./step/step_outcome.ts";
import { openScaleBook, type ScaleBook } from "./step/scale_book.ts";
import { type ItemQueue, newQueue, type StepWork } from "./step/step_state.ts";

/** waiting: no stage yet; loading: `assign` sent; active: holds the round's parameters and takes tasks. */
export type MemberStatus = "waiting" | "loading" | "active";

/** The last step header to a member that counted tasks of its own. */
export interface SentHeader {
  readonly step: number;
  readonly tasks: number;
  readonly learningRate: number;
  readonly clipFactor: number;
  readonly before: number | null; // step of the one before it
  readonly shows: boolean; // asked for the member's parameters
}

export interface Member {
  readonly node: NodeId;
  readonly role: Role;
  readonly adapter: string;
  readonly listens: string | null; // where peers may fetch its parameters
  previousStage: StageIndex | null;
  status: MemberStatus;
  stage: StageIndex | null; // null: waiting, or a validator
  assignment: number; // number of the last `assign`; orders the replicas of a stage
  loadingRound: number | null; // of the parameters it was told to load
  loadFailures: number; // in a row
  loadedTo: number; // its furthest reported progress: members/loading.ts
  loadUntilMs: number; // deadline to make progress or be ready
  loadLateMs: number; // after this its stage no longer counts on it
  readonly unfitStages: StageIndex[]; // that its device cannot hold
  graceUntilMs: number | null; // disconnected until then at most
  isCutByHub: boolean; // its link ended with the orchestrator's last process, and it has not returned
  readonly leases: Set<TaskId>;
  leasedForwards: number; // see forwardsOf
  /** Ratio of a task's time, from lease to result, to its computing; 0: not measured yet. */
  tripRatio: number;
  tripMs: number | null; // from lease to result, of such tasks; null: not measured yet
  places: number; // in-flight window, while it is active
  movedRound: number | null; // in which it was moved to its stage
  results: number; // behind `forwardMs`
  forwardMs: number | null; // recent; null: not measured yet
  steadyMs: number | null; // the same over many results
  lastResultMs: number;
  busyMs: number; // expected, handed to it, on its stage's clock (interleaved weighted round robin)
  ahead: number; // forwards beyond the least of its stage in earlier steps, plus all of the open step
  isReady: boolean; // has a valid place in its stage's `ready`
  own: ItemQueue; // queued items that only it should take
  stepTasks: TaskId[]; // accepted gradient tasks of the open step, in the order they came
  roundTasks: number; // gradient tasks of the round's closed steps: the weight in the merge
  roundSteps: number; // closed steps of the round in which it had such tasks
  header: SentHeader | null;
  head: string; // of the chain over its steps since the assignment: step/receipts.ts
}

/** Valid while its member is ready and `busyMs` is still the member's. */
export interface ReadyPlace {
  readonly busyMs: number;
  readonly member: Member;
}

export interface StageRoster {
  readonly members: Member[]; // in slot order: by assignment
  readonly ready: ReadyPlace[]; // heap by busyMs: connected, with a free place; stale entries are skipped
  readonly due: Set<Member>; // ready members whose own queue may hold work
  readonly backlog: Set<Member>; // members whose own queue is not empty
  progress: number; // the sum of its active members' `roundTasks`
  present: number; // connected ones
  assigned: number; // members whose stage it is, loading ones included
  clockMs: number; // busyMs of the member that got work last
  forwardMs: number | null; // mean of the times measured here
  medianMs: number | null; // of the members' steady paces at the start of the step
  medianTripMs: number | null; // of their times from lease to result
  movedRound: number | null; // in which a miner was moved from or to here
  readonly pace: { measured: number; forwardsPerMs: number }; // members with a `steadyMs`, and their combined speed
}

export type Alarm =
  | { readonly atMs: number; readonly type: "lease"; readonly task: TaskId }
  | { readonly atMs: number; readonly type: "seal"; readonly node: NodeId }
  | { readonly atMs: number; readonly type: "silence"; readonly node: NodeId }
  | { readonly atMs: number; readonly type: "audit"; readonly request: number }
  | { readonly atMs: number; readonly type: "loading"; readonly node: NodeId; readonly assignment: number };

/** Of the state's shape and the machine's response to events: a journal of another version cannot be replayed. */
export const stateVersion = 25;

type Phase = "gathering" | "training" | "merging" | "closing" | "finished";

export interface RoundSources {
  readonly round: number;
  readonly stages: readonly ParameterSource[];
}

/** The newest round whose held-out loss did not rise: the target of a rollback after a bad merge. */
export interface GoodRound {
  readonly sources: RoundSources;
  readonly step: number; // its first
  readonly loss: number; // held-out, nats per token
  readonly isRetaken: boolean; // the run has already rolled back to it
}

export interface OrchestratorState {
  config: RunConfig; // changeable settings change only in restart.ts
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly stageFloats: readonly number[]; // length of each stage's parameter vector
  readonly forwardUnits: readonly number[]; // of each stage: model/task_flops.ts
  readonly secret: SecretKey; // never shared; keys derived from it drive random sampling that members must not foresee
  stream: Stream; // of the open round
  phase: Phase;
  gatherUntilMs: number | null;
  closeUntilMs: number | null;
  readonly members: Map<NodeId, Member>;
  readonly rosters: readonly StageRoster[];
  readonly waiting: Set<NodeId>; // connected miners that need an `assign`
  readonly departing: Map<NodeId, number>; // miners for which this round ends early, and which leave after it
  readonly catchingUp: Map<NodeId, CatchUp>; // members that load a stage
  readonly validators: Set<NodeId>;
  readonly expelled: Set<NodeId>; // banned for proven lies
  readonly convicted: { readonly node: NodeId; readonly reason: string }[]; // those still to be dismissed
  readonly standings: Map<NodeId, Standing>;
  readonly talk: Map<NodeId, Talk>; // of the open round
  readonly hearing: { lastMs: number | null; putOffs: number }; // when any last spoke; waits because none did
  readonly handBacks: Map<NodeId, number>; // in the open round: new sessions that had others do its tasks
  /** In the open round: microbatches recomputed because this node contradicted another. */
  readonly claims: Map<NodeId, number>;
  readonly resting: NodeId[]; // members about to lose their place
  readonly notices: { readonly node: NodeId; readonly notice: Notice }[]; // yet to be sent
  /** Shares of pay below 1: audit/held_out/payload_trials.ts. */
  readonly qualities: Map<NodeId, number>;
  readonly trails: Map<NodeId, Trail>; // of payloads with a residual: merge/payloads/payload_trails.ts
  readonly unpaid: Set<NodeId>; // missed a deadline in the open round
  roundRates: number; // sum of the learning rates of the open round's closed steps
  /** The same of earlier rounds, which residuals may still hold: core/update/payload/residual_reach.ts. */
  carriedRates: number;
  readonly reloads: Map<StageIndex, number>; // of all replicas of a diverged stage in the open round
  readonly scales: ScaleBook; // scales of results so far
  readonly alarms: Alarm[]; // heap by atMs
  assignments: number;
  round: number; // of the parameters in use
  roundFirstStep: number;
  step: number; // closed steps
  readonly interval: Interval; // steps of the open round, if they are measured
  readonly lostProgress: Set<StageIndex>; // stages that have lost all of the open round's progress
  sources: RoundSources; // newest round whose parameters can be fetched
  /** Stages whose parameters could not be loaded: the shell is looking for them, or only replicas hold them. */
  readonly restoring: Map<StageIndex, "looking" | "held">;
  readonly replaced: Set<StageIndex>; // stages whose parameters differ from those the round began with: not audited
  readonly roundUnits: Map<NodeId, number>; // of the open round's closed steps
  readonly forfeits: Map<NodeId, number>; // by miner: the first round of unvested pay that the next report takes back
  readonly reports: RoundReport[]; // of the last merged rounds, less forfeits
  readonly gradientSquares: number[]; // of each stage, squared norm of the last closed step's mean gradient
  retired: RoundSources[]; // older ones that an open audit still needs
  work: StepWork | null;
  outcomes: StepOutcome[]; // of closed steps, newest last; step/outcomes.ts decides which are kept
  merge: MergeWork | null;
  upload: UploadWork | null;
  good: GoodRound | null; // null: nothing evaluated yet
  readonly firstSteps: Map<number, number>; // by round, of rounds not yet evaluated
  readonly firstLosses: Map<number, number>; // of recent rounds: the training loss of the parameters it began with
  poorest: StageIndex | null; // lacked capacity at the end of the last round: members/rebalance.ts
  retakeBecause: string | null; // an evaluation calls for a rollback
  restartBecause: string | null; // a cheat's wires are in the open round
  restarts: Record<"minersLost" | "madeUpWires", number>; // of rounds since the last merge, by reason
  readonly losses: LossState;
  readonly audit: AuditWork;
  readonly counters: Counters;
  readonly facts: RunFacts;
  readonly marks: MarkCounts;
}

export interface OpenOptions {
  readonly config: RunConfig;
  readonly stages: readonly StageSpec[];
  readonly layersOfStages: readonly number[];
  readonly stageFloats: readonly number[];
  /** Without it the run begins at step 0 with initial parameters. */
  readonly from?: { readonly step: number; readonly sources: RoundSources };
  readonly secret: Uint8Array; // 32 random bytes
  readonly nowMs: number;
}

export function openOrchestrator(options: OpenOptions): OrchestratorState {
  const { config, stages } = options;
  const initial: RoundSources = { round: 0, stages: stages.map(() => ({ type: "initial" })) };
  const sources = options.from?.sources ?? initial;
  const step = options.from?.step ?? 0;
  const secret = secretKeyOf(options.secret);
  const audit = newAuditWork({ round: sources.round, step });
  addRequest(audit, evaluationOf(sources.round));
  return {
    config,
    stages,
    layersOfStages: options.layersOfStages,
    stageFloats: options.stageFloats,
    forwardUnits: forwardUnits(stages),
    secret,
    stream: openStream(derivedKey(secret, sources.round)),
    phase: "gathering",
    gatherUntilMs: options.nowMs + config.swarm.gatherMs,
    closeUntilMs: null,
    ...noMembers(stages.length),
    standings: new Map(),
    talk: new Map(),
    hearing: { lastMs: null, putOffs: 0 },
    handBacks: new Map(),
    claims: new Map(),
    resting: [],
    notices: [],
    ...{ qualities: new Map(), trails: new Map() },
    unpaid: new Set(),
    roundRates: 0,
    carriedRates: step === 0 ? 0 : rememberedRates(config),
    reloads: new Map(),
    scales: openScaleBook(stages.length),
    alarms: [],
    assignments: 0,
    round: sources.round,
    roundFirstStep: step,
    step,
    interval: openInterval(),
    lostProgress: new Set(),
    sources,
    restoring: new Map(),
    replaced: new Set(),
    roundUnits: new Map(),
    forfeits: new Map(),
    reports: [],
    gradientSquares: stages.map(() => 0),
    retired: [],
    work: null,
    outcomes: [],
    merge: null,
    upload: null,
    good: null,
    firstSteps: new Map([[sources.round, step]]),
    firstLosses: new Map(),
    poorest: null,
    ...{ retakeBecause: null, restartBecause: null, restarts: { minersLost: 0, madeUpWires: 0 }, losses: newLosses() },
    audit,
    counters: newCounters(),
    facts: newFacts(),
    marks: new Map(),
  };
}

function noMembers(stages: number) {
  return {
    members: new Map(),
    rosters: Array.from({ length: stages }, newRoster),
    waiting: new Set<NodeId>(),
    departing: new Map<NodeId, number>(),
    catchingUp: new Map(),
    validators: new Set<NodeId>(),
    expelled: new Set<NodeId>(),
    convicted: [],
  };
}

const newRoster = (): StageRoster => ({
  members: [],
  ready: [],
  due: new Set(),
  backlog: new Set(),
  progress: 0,
  present: 0,
  assigned: 0,
  clockMs: 0,
  ...{ forwardMs: null, medianMs: null, medianTripMs: null },
  movedRound: null,
  pace: { measured: 0, forwardsPerMs: 0 },
});

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
    loadedTo: -1,
    loadUntilMs: Infinity,
    loadLateMs: Infinity,
    unfitStages: [],
    graceUntilMs: null,
    isCutByHub: false,
    leases: new Set(),
    leasedForwards: 0,
    ...{ tripRatio: 0, tripMs: null, places: 0 },
    movedRound: null,
    results: 0,
    forwardMs: null,
    steadyMs: null,
    lastResultMs: 0,
    busyMs: 0,
    ahead: 0,
    isReady: false,
    own: newQueue(),
    stepTasks: [],
    roundTasks: 0,
    roundSteps: 0,
    header: null,
    head: chainStart,
  };
}

export function tokensPerMicrobatch(config: RunConfig): number {
  return config.train.sequencesPerMicrobatch * config.model.contextLength;
}
