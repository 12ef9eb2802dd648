/**
 * The one table of knobs, by the path that TOML files and flags use. Rules between knobs are in rules.ts.
 *
 * `mayChange` marks what may change during a run (change.ts). All else is fixed, because existing state depends on it:
 * what replicas must agree on, the order and split of the text, losses that are compared, the subnet that pays.
 */

import { choice, derived, flag, float, int, type Knob, type KnobFor, type KnobPath, type KnobValueAt } from "./knob.ts";
import { boundariesPattern, codecNames, codecsDoc, defaultGradientBits } from "../codec/codec_names.ts";
import { defaultOptimizer, optimizerDocs, optimizerNames } from "./optimizer_names.ts";
import {
  defaultPayloadCodec,
  defaultReducers,
  densities,
  payloadCodecDocs,
  payloadCodecNames,
  reducerNames,
} from "./payload_codec_names.ts";
import { ropeDefaults } from "../model/rope.ts";
import { defaultSchedule, scheduleNames } from "./schedule_names.ts";
import { defaultSize, sizeNames } from "./size.ts";

export const mergeShareDefault = 0.1;
export const evaluationShareDefault = 0.0075;
export const mostStepsDefault = 30;
/** The prompt suits the built-in text. */
export const samplingDefaults = { prompt: "The people", tokens: 48 };
const day = 86_400_000; // ms
const mebi = 2 ** 20;
const perToken = { max: 4096, multipleOf: 4, unit: "values per token" } as const;

export const knobs: { readonly [Path in KnobPath]: KnobFor<KnobValueAt<Path>> } = {
  "name": {
    kind: "string",
    unit: "",
    maxLength: 64,
    pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
    patternText: "letters, digits, dots, dashes and underscores, beginning with a letter or digit",
    default: "iota",
    doc: "Name of the run, part of what nodes sign.",
  },
  "seed": int({ min: 0, max: 2 ** 32 - 1, default: 1 }, "Seed of parameters, data order and wiring."),
  "size": choice(sizeNames, defaultSize, "How large the model is; every other setting follows from it."),
  "deterministic": flag(false, "Fixes the wiring and the order of tasks, so that two runs give the same hashes."),

  "model.vocabSize": int({ min: 64, max: 2 ** 18, multipleOf: 4, unit: "tokens" }, "Rows of embedding and head."),
  "model.width": int({ min: 32, max: 16384, multipleOf: 32, unit: "channels" }, "Width of the residual stream."),
  "model.layers": int({ min: 1, max: 256, unit: "layers" }, "Transformer blocks in the whole model."),
  "model.heads": int({ min: 1, max: 256, unit: "heads" }, "Query heads."),
  "model.kvHeads": int({ min: 1, max: 256, unit: "heads" }, "Key/value heads, each shared by a group of query heads."),
  "model.ffnWidth": int({ min: 32, max: 65536, multipleOf: 32, unit: "channels" }, "Inner width of SwiGLU."),
  "model.contextLength": int({ min: 8, max: 131072, multipleOf: 8, unit: "tokens" }, "Tokens per sequence."),
  "model.ropeBase": float({ min: 100, max: 1e8 }, "Base of the rotary position angles."),
  "model.ropeFactor": float(
    { min: 1, max: 1024, default: ropeDefaults.factor, omitsDefault: true },
    "How many times slower slow channels turn, for longer texts, as in Llama 3.1; 1: none.",
  ),
  "model.ropeLowFrequency": float(
    { min: 0.01, max: 1000, unit: "turns", default: ropeDefaults.lowFrequency, omitsDefault: true },
    "Slow channels have fewer turns than this in the original context.",
  ),
  "model.ropeHighFrequency": float(
    { min: 0.01, max: 1000, unit: "turns", default: ropeDefaults.highFrequency, omitsDefault: true },
    "Channels with more turns than this in the original context turn as usual.",
  ),
  "model.ropeOriginalContext": int(
    { min: 8, max: 2 ** 24, unit: "tokens", default: ropeDefaults.originalContext, omitsDefault: true },
    "Length of the texts before the rotary angles were scaled.",
  ),
  "model.normEpsilon": float({ min: 1e-8, max: 1e-2, default: 1e-5 }, "Added to the mean square in RMSNorm."),

  "pipeline.stages": int({ min: 1, max: 64, unit: "stages" }, "Parts the model is cut into; a miner holds one."),
  "pipeline.codec": choice(codecNames, derived, `What wires carry: ${codecsDoc}.`),
  "pipeline.bottleneckWidth": int({ min: 4, ...perToken }, "Width of the wire with a bottleneck codec."),
  "pipeline.gradientBits": int(
    { min: 4, max: 8, unit: "bits", default: defaultGradientBits, omitsDefault: true },
    "Bits per gradient value, on wires with codes.",
  ),
  "pipeline.sideWidth": int(
    { min: 0, ...perToken, default: 0, omitsDefault: true },
    "Width of the token side embedding of later stages; 0: none.",
  ),
  "pipeline.boundaries": {
    kind: "string",
    unit: "",
    maxLength: 1024,
    pattern: boundariesPattern,
    patternText: 'boundaries with a codec each, as in "1=q4block:64, 3=none"',
    default: "",
    omitsDefault: true,
    doc: "Boundaries with another codec (and width), by receiving stage.",
  },

  "train.sequencesPerMicrobatch": int({ min: 1, max: 1024, unit: "sequences" }, "Sequences in one task."),
  "train.microbatchesPerStep": int({ min: 1, max: 16384, unit: "microbatches" }, "Microbatches in an optimizer step."),
  "train.steps": int({ min: 1, max: 1e8, unit: "steps", mayChange: true }, "Optimizer steps of the whole run."),
  "train.stepsPerRound": int(
    { min: 0, max: 10_000, unit: "steps", mayChange: true },
    "Optimizer steps between two merges; 0: as many as links and machines need.",
  ),
  "train.mergeShare": float(
    { min: 0.001, max: 0.9, unit: "of the time", default: mergeShareDefault, mayChange: true, omitsDefault: true },
    "Share of the time that merges may take where stepsPerRound is 0.",
  ),
  "train.mostStepsPerRound": int(
    { min: 1, max: 10_000, unit: "steps", default: mostStepsDefault, mayChange: true, omitsDefault: true },
    "The longest round where stepsPerRound is 0; unless given, an eighth of a short run.",
  ),
  "train.optimizer": {
    ...choice(
      optimizerNames,
      defaultOptimizer,
      `Optimizer of a stage: ${optimizerNames.map((name) => optimizerDocs[name]).join(", or ")}.`,
    ),
    omitsDefault: true,
  },
  "train.learningRate": float(
    { min: 1e-7, max: 1, mayChange: true },
    "Peak learning rate of AdamW, at most 0.01; Muon's is 2.5 times as high, at most 0.02.",
  ),
  "train.warmupSteps": int(
    { min: 0, max: 1e6, unit: "steps", mayChange: true },
    "Linear warm-up of the learning rate at the start of the run.",
  ),
  "train.schedule": {
    ...choice(
      scheduleNames,
      defaultSchedule,
      "Learning rate after the warm-up: linear stays and decays late, cosine falls from then on.",
    ),
    mayChange: true,
    omitsDefault: true,
  },
  "train.decayFraction": float(
    { min: 0, max: 1, unit: "of the run", default: 0.25, mayChange: true },
    "Final share of the run, in which the learning rate decays linearly.",
  ),
  "train.finalLearningRateFraction": float(
    { min: 0, max: 1, unit: "of the peak", default: 0.1, mayChange: true },
    "Learning rate at the end of the decay, as a share of the peak.",
  ),
  "train.beta1": float({ min: 0, max: 0.9999, default: 0.9 }, "Decay of AdamW's first moment."),
  "train.beta2": float({ min: 0, max: 0.99999, default: 0.95 }, "Decay of AdamW's second moment."),
  "train.epsilon": float({ min: 1e-16, max: 1e-2, default: 1e-8 }, "Added to the root of the second moment."),
  "train.weightDecay": float(
    { min: 0, max: 1, default: 0.1 },
    "Decoupled weight decay of all matrices, embedding and head too; gains have none.",
  ),
  "train.clipNorm": float(
    { min: 1e-6, max: 1e6, default: 1, mayChange: true },
    "Largest norm of the whole model's gradient.",
  ),
  "train.joinWarmupSteps": int(
    { min: 0, max: 10_000, unit: "steps", mayChange: true },
    "Learning-rate warm-up of a miner that joins with empty moments.",
  ),

  "outer.learningRate": float({ min: 1e-3, max: 2 }, "Step size of the merge along the averaged pseudo-gradient."),
  "outer.momentum": float({ min: 0, max: 0.999 }, "Nesterov momentum of the merge; 0 with rate 1 is plain averaging."),
  "outer.payload": {
    ...choice(
      payloadCodecNames,
      defaultPayloadCodec,
      `Payloads of merges: ${payloadCodecNames.map((name) => payloadCodecDocs[name]).join(", or ")}.`,
    ),
    omitsDefault: true,
  },
  "outer.density": float(
    { ...densities, unit: "of the values", omitsDefault: true },
    "Share of the values in sparse payloads, twice as dense in embeddings.",
  ),
  "outer.reducers": {
    ...choice(
      reducerNames,
      defaultReducers,
      "Averages payloads: the orchestrator (`hub`), replicas, or auto: it in small stages.",
    ),
    mayChange: true,
    omitsDefault: true,
  },

  "data.corpus": {
    kind: "string",
    unit: "",
    maxLength: 4096,
    pattern: /\S/,
    patternText: '"sotu" or the path of a text or dataset',
    default: "sotu",
    doc: "What to train on: sotu (State of the Union addresses), or the path of a text or dataset.",
  },
  "data.heldOutFraction": float(
    { min: 0.001, max: 0.5, unit: "of the text", default: 0.04 },
    "Share of the text that no miner sees.",
  ),
  "data.maxBytes": int({ min: 0, max: 1e12, unit: "bytes" }, "How much of the text is used; 0 uses all of it."),

  "validate.heldOutSequences": int({ min: 1, max: 65536, unit: "sequences" }, "Held-out sequences in an evaluation."),
  "validate.evaluationShare": float(
    { min: 0, max: 1000, unit: "of the FLOPs", default: evaluationShareDefault, mayChange: true, omitsDefault: true },
    "Share of the miners' FLOPs for evaluations, except every eighth round's.",
  ),
  "validate.replaysPerMiner": int(
    { min: 0, max: 1000, unit: "per step", default: 1, mayChange: true },
    "Microbatches repeated per miner and audited step; two of heads and some tails.",
  ),
  "validate.statesPerRound": float(
    { min: 0, max: 1000, unit: "steps per round", default: 1, mayChange: true },
    "Audited steps per miner after a round's first, on average.",
  ),
  "validate.gradientsPerRound": float(
    { min: 0, max: 1000, unit: "steps per round", default: 0.25, mayChange: true },
    "Steps per miner whose gradient norm is recomputed, on average.",
  ),
  "validate.trialsPerRound": int(
    { min: 0, max: 1000, unit: "stages per round", default: 1, mayChange: true },
    "Most stages per round whose payloads are evaluated on held-out text.",
  ),
  "validate.trialShare": float(
    { min: 0, max: 1000, unit: "of the FLOPs", default: 0.0075, mayChange: true },
    "Share of the miners' FLOPs for leave-one-in evaluations, on average.",
  ),
  "validate.tolerance": float(
    { min: 1e-6, max: 1, default: 0.05, mayChange: true },
    "Innovation error above which a replay fails.",
  ),

  "sample.prompt": {
    kind: "string",
    unit: "",
    maxLength: 200,
    pattern: /^[^\p{C}\p{Zl}\p{Zp}]*$/u,
    patternText: "one line of printable characters",
    default: samplingDefaults.prompt,
    mayChange: true,
    omitsDefault: true,
    doc: "How samples of the model's text begin.",
  },
  "sample.tokens": int(
    { min: 0, max: 256, unit: "tokens", default: samplingDefaults.tokens, mayChange: true, omitsDefault: true },
    "Length of a sample of the model's text; 0 for no samples.",
  ),

  "swarm.replicas": int(
    { min: 1, max: 128, unit: "miners per stage", default: 2, mayChange: true },
    "Miners per stage that the first step waits for.",
  ),
  "swarm.validators": int(
    { min: 0, max: 256, unit: "validators", default: 1, mayChange: true },
    "Validators expected; a swarm starts as many.",
  ),
  "swarm.gatherMs": int(
    { min: 0, max: day, unit: "ms", default: 30_000, mayChange: true },
    "Longest wait for all replicas and validators once every stage has a miner.",
  ),

  "chain.network": {
    kind: "string",
    unit: "",
    maxLength: 512,
    pattern:
      /^(?:none|(?:finney|archive|test|local|wss?:\/\/[^\s,]+)(?:,(?:finney|archive|test|local|wss?:\/\/[^\s,]+))*)$/,
    patternText: "none, or one or more of finney, archive, test, local and wss://host:443 with commas between them",
    default: "none",
    mayChange: true, // another endpoint of the same chain
    doc: "The chain whose subnet pays the miners of this run; none trains without a chain.",
  },
  "chain.netuid": int({ min: 1, max: 4_095, default: 9 }, "The subnet's number on that chain."),
  "chain.admission": {
    ...choice(["registered", "anyone"], "registered", "Admits hotkeys registered in the subnet, or anyone."),
    mayChange: true,
  },

  "limits.leaseMs": int(
    { min: 100, max: day, unit: "ms", mayChange: true },
    "How long a miner has for a task before it goes to another miner.",
  ),
  "limits.disconnectGraceMs": int(
    { min: 0, max: day, unit: "ms", default: 2_500, mayChange: true },
    "How long a silent miner keeps its work.",
  ),
  "limits.restartGraceMs": int(
    { min: 0, max: day, unit: "ms", default: 30_000, mayChange: true },
    "How long nodes may take to return to a restarted orchestrator.",
  ),
  "limits.mergePhaseMs": int(
    { min: 100, max: day, unit: "ms", mayChange: true },
    "Longest wait in each phase of a merge.",
  ),
  "limits.mergeQuorum": float(
    { min: 0.5, max: 1, unit: "of a stage", default: 0.8, mayChange: true },
    "Share of answers (or 2 of 3) after which the grace period begins.",
  ),
  "limits.mergeGraceMs": int(
    { min: 100, max: day, unit: "ms", mayChange: true },
    "Time for the remaining answers after the quorum.",
  ),
  "limits.leasesPerMiner": int(
    { min: 1, max: 1024, unit: "tasks", default: 16, mayChange: true },
    "Most outstanding tasks per miner: four, or more on slow links.",
  ),
  "limits.minersPerStage": int(
    { min: 1, max: 4096, unit: "miners", default: 64, mayChange: true },
    "Most miners per stage; more are refused.",
  ),
  "limits.frameBytes": int(
    { min: 2 ** 16, max: 2 ** 28, unit: "bytes", mayChange: true },
    "Largest WebSocket message.",
  ),
  "limits.headerBytes": int(
    { min: 2 ** 14, max: 16 * mebi, unit: "bytes", default: mebi, mayChange: true },
    "Largest header of a message.",
  ),
  "limits.inboxMessages": int(
    { min: 16, max: 1e6, unit: "messages", default: 4096, mayChange: true },
    "Most events that may wait in a process.",
  ),
  "limits.outboxBytes": int(
    { min: 2 ** 16, max: 2 ** 32, unit: "bytes", mayChange: true },
    "Most unacknowledged bytes to one peer.",
  ),
  "limits.blobBytes": int({ min: 2 ** 16, max: 2 ** 40, unit: "bytes", mayChange: true }, "Largest stored blob."),
};

/** In the order of printing. */
export const knobPaths = Object.keys(knobs) as readonly KnobPath[];

/** "model", "pipeline", … */
export const knobGroups: readonly string[] = [
  ...new Set(knobPaths.filter((path) => path.includes(".")).map((path) => path.slice(0, path.indexOf(".")))),
];

export function isKnobPath(path: string): path is KnobPath {
  return Object.hasOwn(knobs, path);
}

export function knobAt(path: KnobPath): Knob {
  return knobs[path];
}
