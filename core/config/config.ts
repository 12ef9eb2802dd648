/** The resolved configuration of a run, as plain JSON. Defaults, limits and descriptions are in knobs.ts. */

import type { PayloadCodecName } from "./payload_codec_names.ts";
import type { ModelShape, PipelineShape } from "../model/shape.ts";
import type { Reducers } from "./payload_codec_names.ts";
import type { OptimizerName } from "./optimizer_names.ts";
import type { ScheduleName } from "./schedule_names.ts";

export interface TrainConfig {
  sequencesPerMicrobatch: number; // B
  microbatchesPerStep: number; // M
  steps: number;
  stepsPerRound: number; // H; 0: measured
  mergeShare?: number; // of the time; absent: 0.1
  mostStepsPerRound?: number; // where H is measured; absent: 30
  optimizer?: OptimizerName; // absent: adamw
  learningRate: number; // peak
  warmupSteps: number;
  schedule?: ScheduleName; // absent: linear
  decayFraction: number; // last share of the run; linear only
  finalLearningRateFraction: number;
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number; // matrices only
  clipNorm: number;
  joinWarmupSteps: number; // local ramp of a miner with empty moments
}

export interface OuterConfig {
  learningRate: number;
  momentum: number; // Nesterov; 0 = plain averaging
  payload?: PayloadCodecName; // absent: float32
  density?: number; // absent: 1/64
  reducers?: Reducers; // absent: auto
}

interface DataConfig {
  corpus: string; // "sotu" or the path of a text file
  heldOutFraction: number;
  maxBytes: number; // used of the corpus; 0 = all
}

export interface ValidateConfig {
  heldOutSequences: number; // per evaluation
  /** For each audited step; twice for a head, and a tail in a round's first step. */
  replaysPerMiner: number;
  statesPerRound: number; // steps that a miner opens after a round's first, on average
  gradientsPerRound: number; // steps whose gradient norm is recomputed, per miner on average
  trialsPerRound: number; // most stages whose payloads are evaluated on held-out text
  evaluationShare?: number; // of the FLOPs, except every eighth round's; absent: 0.0075
  trialShare: number; // most of the FLOPs for leave-one-in evaluations, on average
  tolerance: number; // innovation error above which a replay fails
}

export interface SwarmConfig {
  replicas: number; // per stage, before the first step
  validators: number;
  gatherMs: number; // then it starts with those present, if every stage has a miner
}

export interface SampleConfig {
  prompt?: string; // absent: samplingDefaults (knobs.ts)
  tokens?: number; // 0: no samples
}

type Admission = "registered" | "anyone";

export interface ChainConfig {
  network: string; // "none", a preset of chain/subtensor/connection/endpoints.ts, or addresses
  netuid: number;
  admission: Admission; // a run without a chain admits anyone
}

export interface LimitConfig {
  leaseMs: number;
  disconnectGraceMs: number;
  restartGraceMs: number;
  mergePhaseMs: number; // each phase
  mergeQuorum: number; // share of answers after which the grace begins
  mergeGraceMs: number;
  leasesPerMiner: number;
  minersPerStage: number;
  frameBytes: number;
  headerBytes: number;
  inboxMessages: number;
  outboxBytes: number; // unacknowledged, per peer
  blobBytes: number;
}

export interface RunConfig {
  name: string;
  seed: number; // u32
  size: string;
  deterministic: boolean;
  model: ModelShape;
  pipeline: PipelineShape;
  train: TrainConfig;
  outer: OuterConfig;
  data: DataConfig;
  validate: ValidateConfig;
  sample?: SampleConfig;
  swarm: SwarmConfig;
  chain: ChainConfig;
  limits: LimitConfig;
}
