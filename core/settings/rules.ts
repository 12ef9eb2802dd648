/**
 * Rules between knobs. A configuration that breaks none can be split, laid out and framed without a failed assertion.
 */

import type { RunConfig } from "../config/config.ts";
import { boundariesProblem } from "../model/boundaries.ts";
import { ropeDefaults } from "../model/rope.ts";
import { stageParameterLengths } from "../model/stages.ts";
import { vectorBytes } from "../model/vector_bytes.ts";
import { gradientTolerance } from "../score/gradient_verdict.ts";
import { longestAdamStep } from "../train/adam_bound.ts";
import { optimizerOf, optimizers } from "../train/optimizers.ts";
import { neededFrameBytes, valueAt } from "./derive.ts";
import { type KnobPath, showValue } from "../config/knob.ts";
import { knobs } from "../config/knobs.ts";
import { isMeasured } from "../config/round_length.ts";

export interface BrokenRule {
  readonly fields: readonly [KnobPath, ...KnobPath[]]; // any may be wrong
  readonly text: string; // without the values
}

interface Rule {
  readonly fields: readonly [KnobPath, ...KnobPath[]];
  readonly text: string | ((config: RunConfig) => string);
  holds(config: RunConfig): boolean;
}

const mostAdamStep = 24; // 0.9 and 0.9999 give 23; payloads are judged by this bound

const shapeRules: readonly Rule[] = [
  {
    fields: ["model.heads", "model.width"],
    text: "model.width must be divisible by model.heads",
    holds: ({ model }) => model.width % model.heads === 0,
  },
  {
    fields: ["model.heads", "model.width"],
    text: "the width of a head, model.width / model.heads, must be a multiple of 4",
    holds: ({ model }) => model.width % model.heads !== 0 || (model.width / model.heads) % 4 === 0,
  },
  {
    fields: ["model.kvHeads", "model.heads"],
    text: "model.heads must be divisible by model.kvHeads",
    holds: ({ model }) => model.heads % model.kvHeads === 0,
  },
  {
    fields: ["model.ropeHighFrequency", "model.ropeLowFrequency"],
    text: "model.ropeHighFrequency must be larger than model.ropeLowFrequency",
    holds: (
      { model: { ropeHighFrequency = ropeDefaults.highFrequency, ropeLowFrequency = ropeDefaults.lowFrequency } },
    ) => ropeHighFrequency > ropeLowFrequency,
  },
  {
    fields: ["pipeline.bottleneckWidth", "model.width"],
    text: "pipeline.bottleneckWidth must not be larger than model.width",
    holds: ({ pipeline, model }) => pipeline.bottleneckWidth <= model.width,
  },
  {
    fields: ["pipeline.sideWidth", "model.width"],
    text: "pipeline.sideWidth must not be larger than model.width",
    holds: ({ pipeline, model }) => (pipeline.sideWidth ?? 0) <= model.width,
  },
  {
    fields: ["pipeline.sideWidth", "model.vocabSize"],
    text: "pipeline.sideWidth times model.vocabSize must be a multiple of 64",
    holds: ({ pipeline, model }) => ((pipeline.sideWidth ?? 0) * model.vocabSize) % 64 === 0,
  },
  {
    fields: ["pipeline.boundaries", "pipeline.stages"],
    text: (config) => boundariesProblem(config) ?? "",
    holds: (config) => boundariesProblem(config) === null,
  },
  {
    fields: ["pipeline.stages", "model.layers"],
    text: "every stage needs a layer: pipeline.stages must not be larger than model.layers",
    holds: ({ pipeline, model }) => pipeline.stages <= model.layers,
  },
  {
    fields: ["train.stepsPerRound", "train.steps"],
    text: "train.stepsPerRound must not be larger than train.steps",
    holds: ({ train }) => train.stepsPerRound <= train.steps,
  },
  {
    fields: ["deterministic", "train.stepsPerRound"],
    text: "rounds of measured length depend on the machine's load: train.stepsPerRound must be 1 or more",
    holds: ({ deterministic, train }) => !deterministic || !isMeasured(train),
  },
  {
    fields: ["train.warmupSteps", "train.steps"],
    text: "train.warmupSteps must not be larger than train.steps",
    holds: ({ train }) => train.warmupSteps <= train.steps,
  },
  {
    fields: ["train.beta2", "train.beta1"],
    text:
      `train.beta2 must exceed the square of train.beta1 by enough that no step is longer than ${mostAdamStep} learning rates`,
    holds: ({ train }) => longestAdamStep(train) <= mostAdamStep,
  },
  {
    fields: ["train.learningRate", "train.optimizer"],
    text: rateProblem,
    holds: (config) => config.train.learningRate <= optimizers[optimizerOf(config)].largestRate.rate,
  },
  {
    fields: ["swarm.replicas", "limits.minersPerStage"],
    text: "swarm.replicas must not be larger than limits.minersPerStage",
    holds: ({ swarm, limits }) => swarm.replicas <= limits.minersPerStage,
  },
];

function rateProblem(config: RunConfig): string {
  const optimizer = optimizerOf(config);
  const { rate, beyond } = optimizers[optimizer].largestRate;
  const percent = (share: number) => `${Number((100 * share).toPrecision(2))} %`;
  return `train.learningRate must be at most ${rate} with ${optimizer}, because at ${beyond.rate} audits of honest gradients were ` +
    `off by up to ${percent(beyond.error)}, too near the ${percent(gradientTolerance)} that proves a lie`;
}

/** They compute with the model's shape, so it must be valid. */
const limitRules: readonly Rule[] = [
  {
    fields: ["limits.frameBytes", "train.sequencesPerMicrobatch", "model.contextLength", "validate.heldOutSequences"],
    text: (config) => {
      const needed = neededFrameBytes(config);
      const { max } = knobs["limits.frameBytes"];
      const smaller = "use smaller microbatches or evaluations, or a codec of fewer values";
      return `limits.frameBytes must be at least ${needed} to hold a task; ` +
        (needed > max ? `${max} is the most, so ${smaller}` : `raise it, or ${smaller}`);
    },
    holds: (config) => config.limits.frameBytes >= neededFrameBytes(config),
  },
  {
    fields: ["limits.outboxBytes", "limits.frameBytes"],
    text: "limits.outboxBytes must not be smaller than limits.frameBytes",
    holds: ({ limits }) => limits.outboxBytes >= limits.frameBytes,
  },
  {
    fields: ["limits.blobBytes", "pipeline.stages"],
    text: (config) => `limits.blobBytes must be at least ${largestStageBytes(config)} to hold a stage's parameters`,
    holds: (config) => config.limits.blobBytes >= largestStageBytes(config),
  },
];

function largestStageBytes(config: RunConfig): number {
  return vectorBytes(Math.max(...stageParameterLengths(config)));
}

export function brokenRules(config: RunConfig): BrokenRule[] {
  const broken = shapeRules.filter((rule) => !rule.holds(config));
  if (broken.length === 0) broken.push(...limitRules.filter((rule) => !rule.holds(config)));
  return broken.map(({ fields, text }) => {
    const shown = fields.map((path) => `${path} = ${showValue(valueAt(config, path))}`).join(", ");
    return { fields, text: `${typeof text === "string" ? text : text(config)}; now ${shown}` };
  });
}
