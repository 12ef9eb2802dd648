/**
 * The run a simulation trains: a configuration for so many miners, the sizes of its stages, and how fast machines and links are.
 *
 * Owns the choice of shape. The seed varies what can vary in a real run (depth, merge rule, patience, round length), so that
 * one batch of seeds sees many shapes. The model is tiny because only sizes in bytes matter; the more stages it is cut into,
 * the shorter a task.
 */

import { assert } from "../../../core/assert.ts";
import { codecNames } from "../../../core/codec/codec_names.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { knobAt } from "../../../core/config/knobs.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { payloadCodecNames } from "../../../core/config/payload_codec_names.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { Dice } from "./dice.ts";
import type { LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";

export interface SwarmShape {
  readonly config: RunConfig;
  readonly layersOfStages: readonly number[];
  readonly stages: readonly StageSpec[];
  readonly stageFloats: readonly number[];
  readonly forwardMs: number; // of the median miner; turnaround and backward take three times that
  /** Machines and links without randomness, for measurements. */
  readonly equal?: { readonly links: LinkShape; readonly stagePaces: readonly number[] }; // a stage's time as a multiple
}

const mostStages = 32;
const model = { vocabSize: 64, width: 32, heads: 2, kvHeads: 1, ffnWidth: 32, contextLength: 16 };

export interface ShapeOptions {
  readonly seed: number;
  readonly miners: number;
  readonly forwardMs?: number; // of the median miner; drawn when it is not given
}

export function shapeOf({ seed, miners, forwardMs: givenMs }: ShapeOptions): SwarmShape {
  const dice = new Dice(seed, "shape");
  const mostReplicas = maxOf("limits.minersPerStage");
  const deepest = Math.min(mostStages, Math.max(1, Math.floor(miners / 2)));
  const fewest = Math.min(deepest, Math.ceil(miners / mostReplicas));
  const stages = Math.max(fewest, deepest >> dice.pick([0, 0, 1, 2, 3, 4]));
  const replicas = Math.max(1, Math.floor(miners / stages));
  const drawnMs = Math.round(dice.between(1000, 4000) / Math.max(1, stages / 4));
  const forwardMs = givenMs ?? drawnMs;
  const microbatches = Math.min(4096, Math.max(2, replicas * dice.between(2, 4)));
  const config = configOf({
    seed,
    "train.microbatchesPerStep": microbatches,
    "train.stepsPerRound": roundLength(seed, dice.pick([1, 1, 2, 3])),
    "pipeline.stages": stages,
    "pipeline.codec": dice.pick(codecNames),
    "pipeline.boundaries": boundariesOf(seed, stages),
    "outer.learningRate": 0.7,
    "outer.momentum": dice.pick([0, 0.9]),
    "outer.payload": new Dice(seed, "payload").pick(payloadCodecNames),
    "outer.reducers": new Dice(seed, "reducers").pick(["auto", "replicas"]),
    "model.layers": stages,
    "swarm.replicas": Math.min(maxOf("swarm.replicas"), Math.max(1, Math.floor(replicas * 0.75))),
    "swarm.validators": dice.between(0, 2),
    "limits.disconnectGraceMs": dice.pick([2_500, 10_000, 30_000]),
    "limits.leaseMs": 6_000 + 60 * forwardMs,
    "limits.mergePhaseMs": 10_000 + 20 * forwardMs,
    "limits.minersPerStage": Math.min(mostReplicas, Math.max(64, 2 * replicas)),
    "limits.leasesPerMiner": dice.between(2, 16),
  });
  return { ...shapeFrom(config), forwardMs };
}

/** In every eighth run, rounds have as many steps as are measured to be right. */
const roundLength = (seed: number, fixed: number): number => new Dice(seed, "roundLength").unit() < 1 / 8 ? 0 : fixed;

/** In every eighth run, one boundary has a codec of its own. */
function boundariesOf(seed: number, stages: number): string {
  const dice = new Dice(seed, "boundaries");
  return stages === 1 || dice.unit() >= 1 / 8 ? "" : `${dice.between(1, stages - 1)}=${dice.pick(codecNames)}`;
}

/** A name for the steps before a round, the same for all who begin it. */
export const firstStepOf = (round: number, { config: { train } }: SwarmShape): number =>
  round * Math.max(1, train.stepsPerRound);

/** A pipeline of equal miners, one or more per stage, that trains without merging. */
export function pipelineShape(options: {
  readonly microbatches: number;
  readonly replicas: number;
  readonly forwardMs: number;
  readonly stagePaces: readonly number[];
}): SwarmShape {
  const { microbatches, replicas, forwardMs, stagePaces } = options;
  const stages = stagePaces.length;
  const config = configOf({
    "train.microbatchesPerStep": microbatches,
    "train.stepsPerRound": 10_000,
    "pipeline.stages": stages,
    "model.layers": stages,
    "swarm.replicas": replicas,
    "swarm.validators": 0,
  });
  const equal = { links: { delayMs: 1, bytesPerMs: 12_500, jitterMs: 0, resetMs: Infinity }, stagePaces };
  return { ...shapeFrom(config), forwardMs, equal };
}

/** Sizes of what a run of this configuration moves. */
export function shapeFrom(config: RunConfig): Omit<SwarmShape, "forwardMs"> {
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  return { config, layersOfStages, stages, stageFloats: stages.map((spec) => parameterTable(spec).length) };
}

function configOf(overrides: Readonly<Record<string, string | number>>): RunConfig {
  const ofModel = Object.fromEntries(Object.entries(model).map(([key, value]) => [`model.${key}`, value]));
  const resolved = resolveConfig({
    size: "toy",
    overrides: { ...ofModel, "train.steps": 1e8, "swarm.gatherMs": 15_000, ...overrides },
  });
  assert(resolved.ok, `Simulated configurations obey the rules: ${resolved.ok ? "" : resolved.problems[0]?.text}`);
  return resolved.config;
}

/** Read from the knob, so that raising the program's limit raises it here. */
function maxOf(path: "limits.minersPerStage" | "swarm.replicas"): number {
  const knob = knobAt(path);
  assert(knob.kind === "int", `${path} is a whole number`);
  return knob.max;
}
