/**
 * What a person may want to see of a run, as plain data: the panels draw nothing else.
 *
 * Owns: the shape and its start. `applyRecord` (apply_record.ts) folds the run's records into it, in place. Bounded: curves are
 * thinned, lists are short, lost nodes go at the next merge.
 */

import type { NodeId } from "../../core/ids.ts";
import { emptySeries, type Series } from "./series.ts";

/** What does not change during a run. */
export interface RunFacts {
  readonly command: string; // "swarm", "orchestrate"
  readonly run: string; // its name
  readonly size: string;
  readonly parameters: number; // of the whole model
  readonly device: string;
  readonly steps: number;
  readonly stepsPerRound: number;
  readonly layersOfStages: readonly number[];
}

/** Bytes per token across one boundary, as counted on the sockets, and what bf16 activations would take. */
export interface WireCost {
  readonly forwardBytes: number;
  readonly backwardBytes: number;
  readonly bf16Bytes: number;
}

/** What a swarm's own chain has done so far. */
export interface ChainActivity {
  readonly block: number;
  readonly weightsSet: number;
  readonly epochs: number;
  readonly minersRao: bigint; // paid to miners in all
}

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
  readonly role: "miner" | "validator";
  state: "loading" | "ready" | "lost";
  stage: number | null;
  loading: number | null; // percent of what it is at; null: not known, or ready
  tasks: number; // finished
}

export interface VerdictView {
  readonly miner: NodeId;
  readonly stage: number;
  readonly passed: boolean;
  readonly innovationError: number;
  readonly tolerance: number;
  readonly lossError: number | null;
}

/** Where a microbatch goes next. */
export interface Hop {
  readonly stage: number;
  readonly direction: "forward" | "backward";
}

export interface EventLine {
  readonly atMs: number; // since the start
  readonly level: "info" | "warn";
  readonly text: string;
}

export interface RunView {
  facts: RunFacts;
  readonly startedAtMs: number;
  phase: "gathering" | "training" | "merging" | "finished";
  step: number; // closed
  round: number;
  stepAtStart: number; // more than 0 when a run is resumed
  trainingSinceMs: number | null; // when the first step could begin
  stages: StageView[];
  nodes: Map<NodeId, NodeView>;
  hops: Map<number, Hop>; // by microbatch, of the open step
  losses: Series;
  lossFirst: number | null;
  lossLast: number | null;
  learningRate: number | null;
  recentSteps: { tokens: number; closedAtMs: number }[]; // the last few; the first only says when the second began
  validation: { round: number; loss: number }[]; // first and latest evaluation
  wire: WireCost | null; // set by the command once it has measured
  chain: ChainActivity | null; // likewise; null without a chain
  lastMerge: { round: number; bytesPerMiner: number; mergeMs: number; agree: boolean | null } | null; // agree null: nothing was compared
  verdicts: { passed: number; failed: number; last: VerdictView | null };
  reLeases: number;
  events: EventLine[]; // oldest first
}

export function newRunView(facts: RunFacts, startedAtMs: number): RunView {
  let firstLayer = 0;
  const stages = facts.layersOfStages.map((layers): StageView => {
    const stage: StageView = { firstLayer, layers, forward: 0, backward: 0, merge: null };
    firstLayer += layers;
    return stage;
  });
  return {
    facts,
    startedAtMs,
    phase: "gathering",
    step: 0,
    round: 0,
    stepAtStart: 0,
    trainingSinceMs: null,
    stages,
    nodes: new Map(),
    hops: new Map(),
    losses: emptySeries(),
    lossFirst: null,
    lossLast: null,
    learningRate: null,
    recentSteps: [],
    validation: [],
    wire: null,
    chain: null,
    lastMerge: null,
    verdicts: { passed: 0, failed: 0, last: null },
    reLeases: 0,
    events: [],
  };
}

/** Over the last few closed steps with the merges between them; null before the first one. */
export function tokensPerSecond(view: RunView): number | null {
  const [before, ...steps] = view.recentSteps;
  if (before === undefined || steps.length === 0) return null;
  const tokens = steps.reduce((sum, step) => sum + step.tokens, 0);
  const ms = steps.at(-1)!.closedAtMs - before.closedAtMs;
  return ms > 0 ? (tokens * 1_000) / ms : null;
}

/** From the pace of this session, merges included; null while it says too little or the run is over. */
export function remainingMs(view: RunView, nowMs: number): number | null {
  const done = view.step - view.stepAtStart;
  if (view.trainingSinceMs === null || done < 2 || view.step >= view.facts.steps) return null;
  return ((nowMs - view.trainingSinceMs) / done) * (view.facts.steps - view.step);
}
