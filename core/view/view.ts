/**
 * The view of a run as plain data: the only source for the terminal, `/status`, a dashboard or a replay.
 *
 * Owns: the shape, its initial value, and what is computed from it. Only `fold` (fold.ts) changes a view. Invariants: a
 * view survives JSON unchanged, so it holds no Map, bigint or non-finite number; it is bounded, however long the run
 * is: curves are thinned, lists are short, lost nodes are dropped at the next merge.
 */

import type { NodeId } from "../ids.ts";
import type { Role } from "../protocol/message.ts";
import { type ByteKind, type CurvesView, emptyCurves, noBytes } from "./curves.ts";
import type { OpenPace, PaceView } from "./pace.ts";
import { noPathways, type PathwaysView } from "./pathways.ts";
import { emptySeries, type Series } from "./series.ts";
import type { RecordOf, RunFacts, ViewPhase } from "./view_record.ts";

export type WireCost = Omit<RecordOf<"wire">, "type">;
export type ChainActivity = Omit<RecordOf<"chain">, "type">;
export type MergePhase = "committing" | "reducing" | "applying" | "agreed";

export interface StageView {
  readonly firstLayer: number;
  readonly layers: number;
  forward: number; // microbatches whose next hop is this stage's forward or turnaround
  backward: number;
  merge: MergePhase | null; // null outside a merge
}

export interface NodeView {
  readonly node: NodeId;
  readonly role: Role;
  state: "loading" | "ready" | "lost";
  stage: number | null;
  loading: number | null; // percent of the current part; null if unknown or ready
  tasks: number; // finished
  conduct: ConductView;
  checks: ChecksView | null; // null: it has checked nothing
  pace: PaceView | null; // null: it has finished no task
  openPace: OpenPace | null;
}

/** A validator's checks. */
export interface ChecksView {
  passed: number; // repeated tasks and gradients
  failed: number;
  evaluated: number; // rounds, on held-out text
  lastAtMs: number; // wall clock
  lastFailed: { readonly round: number; readonly miner: NodeId } | null;
  lastLoss: { readonly round: number; readonly loss: number | null } | null; // loss null: it was non-finite
}

/** A node's conduct besides its tasks, over the whole run; the reasons behind a score. */
export interface ConductView {
  released: number; // tasks taken back from it
  late: number; // merge answers that its stage did not wait for
  outrun: number; // answers that came after their task was reassigned or its step had closed, which costs nothing
  faults: number; // excluding outrun answers
  blamed: number; // faults that were proven
  lastFault: string | null; // its code
  audits: { passed: number; failed: number; last: AuditView | null };
}

/** Numbers are null where they were non-finite. */
interface AuditView {
  readonly atMs: number;
  readonly passed: boolean;
  readonly error: number | null; // innovation error
  readonly tolerance: number | null;
}

/**
 * Whether the replicas of each stage had the same parameters when a round began; null: one replica, so not compared.
 */
interface AgreementView {
  readonly round: number;
  readonly stages: readonly (boolean | null)[];
}

/** Numbers are null where they were non-finite. */
export interface VerdictView {
  readonly miner: NodeId;
  readonly stage: number;
  readonly passed: boolean;
  readonly innovationError: number | null;
  readonly tolerance: number | null;
  readonly lossError: number | null;
}

/** Loss on held-out text of the parameters after `step` steps, the last evaluation of its round. */
export interface HeldOutPoint {
  readonly round: number;
  readonly step: number;
  readonly loss: number;
}

/** How the model continued a prompt, with the parameters after `step` steps. */
export interface TextSample {
  readonly round: number; // that began with them
  readonly step: number;
  readonly prompt: string;
  readonly text: string; // foreign: the display must escape it
  readonly loss: number | null; // on held-out text, of the round's last evaluation
}

/** Where a microbatch goes next. */
export interface Hop {
  readonly stage: number;
  readonly direction: "forward" | "backward";
}

/** Rounds that do not count, because a stage's training in them is in no parameters. */
interface LostRoundsView {
  count: number; // in the run's log
  stages: { stage: number; reason: string }[]; // of the last one; none once a round has been merged since
  isHalted: boolean; // the run waits before it repeats it
}

/**
 * Records that are news: nodeReady after the start, roundMerged and verdict only if something is wrong, the others
 * always.
 */
export const newsTypes = [
  "runStarted",
  "nodeReady",
  "nodeResumed",
  "nodeMoved",
  "nodeLost",
  "stagesUnserved",
  "taskReleased",
  "stageRestored",
  "roundEndsEarly",
  "rewound",
  "mergeRetaken",
  "mergeLate",
  "resumed",
  "sliceDisputed",
  "roundMerged",
  "checkpointWritten",
  "verdict",
  "faultSeen",
  "runPaused",
  "runContinued",
  "trainingHalted",
  "trainingRetried",
  "ownerActed",
  "blamed",
  "warning",
  "runFinished",
  "noted",
] as const;

export type NewsRecord = RecordOf<typeof newsTypes[number]>;

export interface News {
  readonly atMs: number; // wall clock
  readonly record: NewsRecord;
}

export interface RunView {
  facts: RunFacts;
  begunAtMs: number; // of the run's first process; wall clock
  startedAtMs: number; // of the process that displays the run
  phase: ViewPhase;
  isPaused: boolean; // because the orchestrator's disk is full
  isPausedByOwner: boolean;
  lostRounds: LostRoundsView;
  unserved: number[]; // stages without a connected miner: the run waits for them
  step: number; // closed
  round: number;
  stepAtStart: number; // more than 0 when a run is resumed
  trainingSinceMs: number | null; // when the first step could start
  stages: StageView[];
  nodes: Record<NodeId, NodeView>;
  nodeCount: number; // entries of `nodes`
  hops: Record<number, Hop>; // by microbatch, of the open step
  hopCount: number; // entries of `hops`
  pathways: PathwaysView;
  losses: Series;
  lossFirst: number | null;
  lossLast: number | null;
  learningRate: number | null;
  recentSteps: { tokens: number; closedAtMs: number }[]; // the last few; the first only gives the start of the second
  validation: { round: number; loss: number }[]; // first and latest evaluation
  heldOut: HeldOutPoint[]; // the whole curve, thinned; ascending steps
  roundStarts: { round: number; step: number }[]; // the latest merges
  samples: TextSample[]; // over the whole run, thinned; ascending steps
  curves: CurvesView;
  bytes: Record<ByteKind, number>; // over the orchestrator's port, both ways, since the log began
  wire: WireCost | null; // null: nothing measured yet
  chain: ChainActivity | null; // null: no chain
  /** `agree` null: not compared. */
  lastMerge: { round: number; bytesPerMiner: number; mergeMs: number; agree: boolean | null } | null;
  agreement: AgreementView[]; // of the latest merges, oldest first
  verdicts: { passed: number; failed: number; last: VerdictView | null };
  reLeases: number;
  news: News[]; // the latest, oldest first
}

const noFacts: RunFacts = {
  command: "",
  run: "",
  size: "",
  parameters: 0,
  device: "",
  steps: 0,
  stepsPerRound: 1,
  layersOfStages: [],
};

/** The view before any record. The record `opened` brings the facts. */
export function emptyView(facts: RunFacts = noFacts, startedAtMs = 0): RunView {
  return {
    facts,
    begunAtMs: startedAtMs,
    startedAtMs,
    phase: "gathering",
    isPaused: false,
    isPausedByOwner: false,
    lostRounds: { count: 0, stages: [], isHalted: false },
    unserved: [],
    step: 0,
    round: 0,
    stepAtStart: 0,
    trainingSinceMs: null,
    stages: stagesOf(facts),
    nodes: {},
    nodeCount: 0,
    hops: {},
    hopCount: 0,
    pathways: noPathways(),
    losses: emptySeries(),
    lossFirst: null,
    lossLast: null,
    learningRate: null,
    recentSteps: [],
    validation: [],
    heldOut: [],
    roundStarts: [],
    samples: [],
    curves: emptyCurves(),
    bytes: noBytes(),
    wire: null,
    chain: null,
    lastMerge: null,
    agreement: [],
    verdicts: { passed: 0, failed: 0, last: null },
    reLeases: 0,
    news: [],
  };
}

export function stagesOf({ layersOfStages }: RunFacts): StageView[] {
  let firstLayer = 0;
  return layersOfStages.map((layers): StageView => {
    const stage: StageView = { firstLayer, layers, forward: 0, backward: 0, merge: null };
    firstLayer += layers;
    return stage;
  });
}

/** Over the last few closed steps with the merges between them; null before the first one. */
export function tokensPerSecond(view: RunView): number | null {
  const [before, ...steps] = view.recentSteps;
  if (before === undefined || steps.length === 0) return null;
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const ms = steps.at(-1)!.closedAtMs - before.closedAtMs;
  return ms > 0 ? (tokens * 1_000) / ms : null;
}

/** From the pace of this session, merges included; null while there is too little data or the run is over. */
export function remainingMs(view: RunView, nowMs: number): number | null {
  const done = view.step - view.stepAtStart;
  if (view.trainingSinceMs === null || done < 2 || view.step >= view.facts.steps) return null;
  return ((nowMs - view.trainingSinceMs) / done) * (view.facts.steps - view.step);
}

/** The stages without a miner that keep the run from continuing. */
export function awaitedStages({ phase, step, facts, unserved }: RunView): readonly number[] {
  const isTraining = (phase === "training" || phase === "merging") && step < facts.steps;
  return isTraining ? unserved : [];
}

/** The nodes that take part, as far as the records tell. */
export function presentNodes(view: RunView): NodeView[] {
  return Object.values(view.nodes).filter(({ state }) => state !== "lost");
}
