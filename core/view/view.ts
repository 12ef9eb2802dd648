/**
 * The view of a run: the only source for the terminal, `/status`, a dashboard or a replay. Only fold.ts changes it. It
 * survives JSON (no Map, bigint or non-finite number) and is bounded, however long the run is.
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
  forward: number; // next hop is a forward or turnaround here
  backward: number;
  merge: MergePhase | null; // null outside a merge
}

export interface NodeView {
  readonly node: NodeId;
  readonly role: Role;
  state: "loading" | "ready" | "lost";
  stage: number | null;
  loading: number | null; // percent of the current part; null: unknown or ready
  tasks: number; // finished
  conduct: ConductView;
  checks: ChecksView | null; // null: none
  pace: PaceView | null; // null: no task finished
  openPace: OpenPace | null;
}

export interface ChecksView {
  passed: number; // repeated tasks and gradients
  failed: number;
  evaluated: number; // rounds
  lastAtMs: number;
  lastFailed: { readonly round: number; readonly miner: NodeId } | null;
  lastLoss: { readonly round: number; readonly loss: number | null } | null; // loss null: non-finite
}

/** Over the whole run; the reasons behind a score. */
export interface ConductView {
  released: number; // tasks taken back
  late: number; // merge answers that came too late
  outrun: number; // answers to closed or reassigned tasks; costs nothing
  faults: number; // without outrun answers
  blamed: number; // proven faults
  lastFault: string | null; // a code
  audits: { passed: number; failed: number; last: AuditView | null };
}

/** Null: non-finite. */
interface AuditView {
  readonly atMs: number;
  readonly passed: boolean;
  readonly error: number | null;
  readonly tolerance: number | null;
}

/** Whether replicas agreed when a round began; null: one replica. */
interface AgreementView {
  readonly round: number;
  readonly stages: readonly (boolean | null)[];
}

/** Null: non-finite. */
export interface VerdictView {
  readonly miner: NodeId;
  readonly stage: number;
  readonly passed: boolean;
  readonly innovationError: number | null;
  readonly tolerance: number | null;
  readonly lossError: number | null;
}

/** The parameters after `step` steps, by the round's last evaluation. */
export interface HeldOutPoint {
  readonly round: number;
  readonly step: number;
  readonly loss: number;
}

/** The parameters after `step` steps continue a prompt. */
export interface TextSample {
  readonly round: number;
  readonly step: number;
  readonly prompt: string;
  readonly text: string; // foreign: escape it
  readonly loss: number | null; // held-out, by the round's last evaluation
}

export interface Hop {
  readonly stage: number;
  readonly direction: "forward" | "backward";
}

/** Rounds that do not count, because a stage's training is in no parameters. */
interface LostRoundsView {
  count: number;
  stages: { stage: number; reason: string }[]; // of the last one; none after a merged round
  isHalted: boolean; // waits before the next attempt
}

/** nodeReady counts after the start, roundMerged and verdict only if something is wrong. */
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
  begunAtMs: number; // first process; wall clock
  startedAtMs: number; // this process
  phase: ViewPhase;
  isPaused: boolean; // the orchestrator's disk is full
  isPausedByOwner: boolean;
  lostRounds: LostRoundsView;
  unserved: number[]; // without a connected miner
  step: number; // closed
  round: number;
  stepAtStart: number; // above 0 after a resumption
  trainingSinceMs: number | null; // from when the first step could start
  stages: StageView[];
  nodes: Record<NodeId, NodeView>;
  nodeCount: number;
  hops: Record<number, Hop>; // by microbatch
  hopCount: number;
  pathways: PathwaysView;
  losses: Series;
  lossFirst: number | null;
  lossLast: number | null;
  learningRate: number | null;
  recentSteps: { tokens: number; closedAtMs: number }[]; // the first only times the second
  validation: { round: number; loss: number }[]; // first and latest
  heldOut: HeldOutPoint[]; // thinned, ascending steps
  roundStarts: { round: number; step: number }[]; // latest merges
  samples: TextSample[]; // thinned, ascending steps
  curves: CurvesView;
  bytes: Record<ByteKind, number>; // over the orchestrator's port, both ways
  wire: WireCost | null; // null: not measured
  chain: ChainActivity | null; // null: no chain
  /** `agree` null: not compared. */
  lastMerge: { round: number; bytesPerMiner: number; mergeMs: number; agree: boolean | null } | null;
  agreement: AgreementView[]; // oldest first
  verdicts: { passed: number; failed: number; last: VerdictView | null };
  reLeases: number;
  news: News[]; // oldest first
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

/** The record `opened` brings the facts. */
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

/** Merges included; null before the first step. */
export function tokensPerSecond(view: RunView): number | null {
  const [before, ...steps] = view.recentSteps;
  if (before === undefined || steps.length === 0) return null;
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const ms = steps.at(-1)!.closedAtMs - before.closedAtMs;
  return ms > 0 ? (tokens * 1_000) / ms : null;
}

/** Merges included; null: too little data, or the run is over. */
export function remainingMs(view: RunView, nowMs: number): number | null {
  const done = view.step - view.stepAtStart;
  if (view.trainingSinceMs === null || done < 2 || view.step >= view.facts.steps) return null;
  return ((nowMs - view.trainingSinceMs) / done) * (view.facts.steps - view.step);
}

/** Keep the run from continuing. */
export function awaitedStages({ phase, step, facts, unserved }: RunView): readonly number[] {
  const isTraining = (phase === "training" || phase === "merging") && step < facts.steps;
  return isTraining ? unserved : [];
}

export function presentNodes(view: RunView): NodeView[] {
  return Object.values(view.nodes).filter(({ state }) => state !== "lost");
}
