/**
 * The resolved configuration of a run: every number a role machine reads. Plain JSON, so it travels in `welcome`.
 *
 * Owns: the shape, except for the model's (core/model/shape.ts). The knobs (default, unit, limit, description) are in
 * knobs.ts, the `--size` dial in size.ts, the parsing of untrusted objects in parse.ts.
 */

import type { PayloadCodecName } from "./payload_codec_names.ts";
import type { ModelShape, PipelineShape } from "../model/shape.ts";
import type { Reducers } from "./payload_codec_names.ts";
import type { OptimizerName } from "./optimizer_names.ts";

export interface TrainConfig {
  sequencesPerMicrobatch: number; // B
  microbatchesPerStep: number; // M
  steps: number; // optimizer steps of the whole run
  stepsPerRound: number; // H; 0: measured
  mergeShare?: number; // of the time, where H is measured; absent: 0.1
  mostStepsPerRound?: number; // where H is measured; absent: 30, or an eighth of a short run
  optimizer?: OptimizerName; // absent: adamw
  learningRate: number; // peak
  warmupSteps: number;
  decayFraction: number; // last share of the run, linear decay
  finalLearningRateFraction: number; // of the peak
  beta1: number;
  beta2: number;
  epsilon: number;
  weightDecay: number; // matrices only
  clipNorm: number; // global gradient norm
  joinWarmupSteps: number; // local ramp of a miner that starts with empty moments after step 0
}

export interface OuterConfig {
  learningRate: number;
  momentum: number; // Nesterov; 0 = plain averaging
  payload?: PayloadCodecName; // absent: float32
  density?: number; // of sparse payloads; absent: 1/64
  reducers?: Reducers; // who averages payloads; absent: auto
}

export interface DataConfig {
  corpus: string; // "sotu" or the path of a text file
  heldOutFraction: number;
  maxBytes: number; // used of the corpus; 0 = all
}

export interface ValidateConfig {
  heldOutSequences: number; // per evaluation
  /** Of a round's first step and each opened step; twice for a head, and a tail in the first step. */
  replaysPerMiner: number;
  statesPerRound: number; // steps that a miner opens, on average
  gradientsPerRound: number; // steps whose gradient norm is recomputed, per miner on average
  trialsPerRound: number; // at most; stages whose payloads are evaluated on held-out text
  evaluationShare?: number; // evaluations' share of the computation, except every eighth round's; absent: 0.0075
  trialShare: number; // the most that leave-one-in evaluations take of the miners' computation, on average
  tolerance: number; // innovation error above which a replay fails
}

export interface SwarmConfig {
  replicas: number; // per stage, wanted before the first step
  validators: number;
  gatherMs: number; // then start with those present, if every stage has one
}

/** Samples of the model's text, generated from a round's parameters during the run. */
export interface SampleConfig {
  prompt?: string; // absent: samplingDefaults (knobs.ts)
  tokens?: number; // 0: no samples
}

export type Admission = "registered" | "anyone";

export interface ChainConfig {
  network: string; // "none", a preset of chain/subtensor/connection/endpoints.ts, or addresses
  netuid: number;
  admission: Admission; // who may join; a run without a chain admits anyone
}

export interface LimitConfig {
  leaseMs: number; // a task's lease
  disconnectGraceMs: number; // a silent miner keeps its work this long
  restartGraceMs: number; // time for nodes to return to a restarted orchestrator
  mergePhaseMs: number; // each phase of a merge
  mergeQuorum: number; // share of a stage's work or replicas after which only the grace remains
  mergeGraceMs: number; // for answers after the quorum
  leasesPerMiner: number; // tasks outstanding at one miner
  minersPerStage: number;
  frameBytes: number; // one WebSocket message
  headerBytes: number; // its msgpack header
  inboxMessages: number; // queued events of a process
  outboxBytes: number; // unacknowledged bytes towards one peer
  blobBytes: number; // one stored blob
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
