/**
 * A toy run for tests: d 64, 4 query and 2 key/value heads, F 128, V 64, T 16, B 2, 3 layers in 3 stages.
 *
 * Owns the numbers every suite starts from, so that a test states only what it changes. Deterministic: tokens come from the
 * counter-based generator.
 */

import { assert } from "@std/assert";
import type {
  LimitConfig,
  OuterConfig,
  RunConfig,
  SwarmConfig,
  TrainConfig,
  ValidateConfig,
} from "../../core/config/config.ts";
import type { ModelShape, PipelineShape } from "../../core/model/shape.ts";
import { initialParameters } from "../../core/model/initial.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { keyOf, nextBelow, openStream } from "../../core/prng.ts";

export interface TinyOverrides {
  name?: string;
  seed?: number;
  deterministic?: boolean;
  model?: Partial<ModelShape>;
  pipeline?: Partial<PipelineShape>;
  train?: Partial<TrainConfig>;
  outer?: Partial<OuterConfig>;
  validate?: Partial<ValidateConfig>;
  swarm?: Partial<SwarmConfig>;
  limits?: Partial<LimitConfig>;
}

const model: ModelShape = {
  vocabSize: 64,
  width: 64,
  layers: 3,
  heads: 4,
  kvHeads: 2,
  ffnWidth: 128,
  contextLength: 16,
  ropeBase: 10_000,
  normEpsilon: 1e-5,
};

const train: TrainConfig = {
  sequencesPerMicrobatch: 2,
  microbatchesPerStep: 4,
  steps: 8,
  stepsPerRound: 2,
  learningRate: 3e-3,
  warmupSteps: 2,
  decayFraction: 0.25,
  finalLearningRateFraction: 0.1,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
  clipNorm: 1,
  joinWarmupSteps: 2,
};

const limits: LimitConfig = {
  leaseMs: 10_000,
  disconnectGraceMs: 5_000,
  mergePhaseMs: 10_000,
  restartGraceMs: 30_000,
  mergeQuorum: 0.8,
  mergeGraceMs: 15_000,
  leasesPerMiner: 4,
  minersPerStage: 64,
  frameBytes: 16 * 2 ** 20,
  headerBytes: 64 * 2 ** 10,
  inboxMessages: 4096,
  outboxBytes: 64 * 2 ** 20,
  blobBytes: 256 * 2 ** 20,
};

/** A whole configuration; each override replaces single numbers of its group. */
export function tinyConfig(overrides: TinyOverrides = {}): RunConfig {
  return {
    name: overrides.name ?? "toy",
    seed: overrides.seed ?? 1,
    size: "toy",
    deterministic: overrides.deterministic ?? true,
    model: { ...model, ...overrides.model },
    pipeline: { stages: 3, codec: "none", bottleneckWidth: 16, ...overrides.pipeline },
    train: { ...train, ...overrides.train },
    outer: { learningRate: 0.7, momentum: 0.9, ...overrides.outer },
    data: { corpus: "sotu", heldOutFraction: 0.05, maxBytes: 0 },
    validate: {
      ...{
        heldOutSequences: 4,
        evaluationShare: 1000, // every round
        replaysPerMiner: 1,
        statesPerRound: 1,
        gradientsPerRound: 0.25,
        trialsPerRound: 1,
        trialShare: 1000, // as often as they may
        tolerance: 0.05,
      },
      ...overrides.validate,
    },
    swarm: { replicas: 1, validators: 1, gatherMs: 1_000, ...overrides.swarm },
    chain: { network: "none", netuid: 9, admission: "registered" },
    limits: { ...limits, ...overrides.limits },
  };
}

/** The run's stages; without `layersOfStages` the layers are spread evenly, the remainder over the first stages. */
export function specsOf(config: RunConfig, layersOfStages?: readonly number[]): StageSpec[] {
  const { stages } = config.pipeline;
  const { layers } = config.model;
  const even = Array.from({ length: stages }, (_, i) => Math.floor(layers / stages) + (i < layers % stages ? 1 : 0));
  return stageSpecs(config, layersOfStages ?? even);
}

export function specAt(specs: readonly StageSpec[], index: number): StageSpec {
  const spec = specs[index];
  assert(spec !== undefined, `no stage ${index}`);
  return spec;
}

/** The stage's parameters at the start of the run. */
export function parametersOf(spec: StageSpec, seed = 1): Float32Array {
  return initialParameters(parameterTable(spec), seed);
}

/** One microbatch: token ids and, one position later, the targets; both (B, T). */
export function tokensOf(spec: StageSpec, microbatch = 0): { tokens: Uint32Array; targets: Uint32Array } {
  const { contextLength, vocabSize } = spec.model;
  const stream = openStream(keyOf(1, "toy tokens", microbatch));
  const tokens = new Uint32Array(spec.sequences * contextLength);
  const targets = new Uint32Array(spec.sequences * contextLength);
  for (let sequence = 0; sequence < spec.sequences; sequence++) {
    let token = nextBelow(stream, vocabSize);
    for (let t = 0; t < contextLength; t++) {
      tokens[sequence * contextLength + t] = token;
      token = nextBelow(stream, vocabSize);
      targets[sequence * contextLength + t] = token;
    }
  }
  return { tokens, targets };
}
