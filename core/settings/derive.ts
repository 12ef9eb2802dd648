/**
 * Builds a configuration: defaults, the size's preset, given values, then derivations for values not given. A
 * derivation reads the same configuration, so `--steps 5` also shortens warm-up and round.
 */

import { assert } from "../assert.ts";
import { defaultGradientBits } from "../codec/codec_names.ts";
import { wireBytes } from "../codec/wire.ts";
import { wiresOfRun } from "../model/boundaries.ts";
import { payloadCodecOf } from "../update/payload/payload_codecs.ts";
import { modelParameters } from "../model/shape.ts";
import { wiresOfDirection } from "../model/stage_wires.ts";
import type { RunConfig } from "../config/config.ts";
import { derived, type KnobPath, type KnobValue } from "../config/knob.ts";
import { knobAt, knobPaths, mostStepsDefault } from "../config/knobs.ts";
import { isMeasured, longestRound } from "../config/round_length.ts";
import { isSizedPath, presets, type SizeName } from "../config/size.ts";

interface DeriveInput {
  readonly size: SizeName;
  readonly given: ReadonlyMap<KnobPath, KnobValue>;
}

export function deriveConfig(input: DeriveInput): RunConfig {
  const { size, given } = input;
  const values = new Map<KnobPath, KnobValue>();
  for (const path of knobPaths) {
    const initial = knobAt(path).default;
    const preset = isSizedPath(path) ? presets[size][path] : initial === derived ? 0 : initial;
    values.set(path, given.get(path) ?? preset);
  }
  values.set("size", size);
  const config = assembleConfig(values);
  for (const [path, derive] of derivations) {
    if (!given.has(path)) setValue(config, path, withinLimits(path, derive(config, input)));
  }
  return config;
}

type Derivation = (config: RunConfig, input: DeriveInput) => number;

/** In order: later ones read earlier results. */
const derivations: readonly (readonly [KnobPath, Derivation])[] = [
  ["pipeline.stages", ({ model, pipeline }, { given }) => {
    return given.has("model.layers") ? Math.min(pipeline.stages, model.layers) : pipeline.stages;
  }],
  ["model.layers", ({ model, pipeline }) => Math.max(model.layers, pipeline.stages)], // one per stage
  ["train.stepsPerRound", ({ train, deterministic }) => {
    const steps = deterministic && isMeasured(train) ? repeatableRound : train.stepsPerRound;
    return Math.min(steps, train.steps);
  }],
  ["train.warmupSteps", ({ train }) => Math.min(train.warmupSteps, Math.ceil(train.steps / 4))],
  ["train.mostStepsPerRound", ({ train }) => Math.min(mostStepsDefault, Math.ceil(train.steps / leastMerges))],
  ["train.joinWarmupSteps", ({ train }) => Math.ceil(15 * longestRound(train) / 100)], // 10-20 % of a round
  [
    "outer.learningRate",
    (config, { size }) => keepsResidual(config) ? residualRate(config, size) : config.outer.learningRate,
  ],
  ["outer.momentum", (config) => keepsResidual(config) ? 0 : config.outer.momentum],
  ["pipeline.bottleneckWidth", ({ pipeline, model }) => Math.min(pipeline.bottleneckWidth, model.width)],
  ["pipeline.sideWidth", (config, { given }) => {
    const { model, pipeline } = config;
    return hasUsualWires(config, given) ? Math.min(pipeline.sideWidth ?? 0, model.width) : 0;
  }],
  ["pipeline.gradientBits", (config, { given }) => {
    const { gradientBits = defaultGradientBits } = config.pipeline;
    return hasUsualWires(config, given) ? gradientBits : defaultGradientBits;
  }],
  [
    "validate.heldOutSequences",
    ({ train, validate }) =>
      Math.min(
        validate.heldOutSequences,
        stepsPerEvaluation * train.sequencesPerMicrobatch * train.microbatchesPerStep,
      ),
  ],
  ["limits.mergeGraceMs", ({ limits }) => Math.ceil(limits.mergePhaseMs / 4)],
  ["limits.frameBytes", (config) => Math.max(4 * mebi, roundUp(neededFrameBytes(config)))],
  ["limits.outboxBytes", ({ limits }) => Math.max(64 * mebi, 4 * limits.frameBytes)],
  ["limits.blobBytes", ({ model }) => Math.max(64 * mebi, roundUp(8 * modelParameters(model)))], // f32, and room
];

/**
 * Side embeddings and gradient bits belong to the size's wires: none where whole streams cross, or if only the wire's
 * width is given, as in all older files.
 */
function hasUsualWires(config: RunConfig, given: DeriveInput["given"]): boolean {
  const isNarrow = wiresOfRun(config).some(({ width }) => width < config.model.width);
  return isNarrow && !given.has("pipeline.bottleneckWidth");
}

/** A residual acts as momentum, so an outer momentum would count twice. */
const keepsResidual = (config: RunConfig): boolean => payloadCodecOf(config).keepsResidual;

/** Sizes that average plainly use twice the step (tests/lab/LOG.md), others SparseLoCo's. */
const residualRate = ({ outer }: RunConfig, size: SizeName): number =>
  presets[size]["outer.momentum"] === 0 && outer.momentum === 0 ? 2 : 1;

const stepsPerEvaluation = 4; // limits evaluations where steps are short
const repeatableRound = 10; // steps; a measured round depends on the machine's load
/** A short measured run: 60 steps of `tiny` end 0.4 % above the loss of 15 merges with 8, and 1.1 % with 4. */
const leastMerges = 8;
const mebi = 2 ** 20;
const roundUp = (bytes: number) => Math.ceil(bytes / mebi) * mebi;

function withinLimits(path: KnobPath, value: number): number {
  const knob = knobAt(path);
  assert(knob.kind === "int" || knob.kind === "float", `only numbers are derived, and ${path} is not one`);
  return Math.min(Math.max(value, knob.min), knob.max);
}

/** A replay carries a backward's input, gradient and result, or tokens instead. */
export function neededFrameBytes(config: RunConfig): number {
  const tokenBytes = 4;
  const { contextLength } = config.model;
  const tokens = config.train.sequencesPerMicrobatch * contextLength * tokenBytes;
  const wires = [...wiresOfDirection(config, "forward"), ...wiresOfDirection(config, "gradient")].map(wireBytes);
  const task = 3 * Math.max(tokens, ...wires);
  const evaluation = 2 * config.validate.heldOutSequences * contextLength * tokenBytes;
  return config.limits.headerBytes + Math.max(task, evaluation);
}

/** Null if the setting is required. */
export function omittedValue(path: KnobPath): KnobValue | null {
  const knob = knobAt(path);
  return knob.omitsDefault === true && knob.default !== derived ? knob.default : null;
}

/** `values` has every path that cannot be left out, each of its knob's type. */
export function assembleConfig(values: ReadonlyMap<KnobPath, KnobValue>): RunConfig {
  const config: Record<string, KnobValue | Record<string, KnobValue>> = {};
  for (const path of knobPaths) {
    const value = values.get(path) ?? omittedValue(path);
    assert(value !== null, `${path} has no value`);
    setValue(config, path, value);
  }
  return config as unknown as RunConfig;
}

/** Omits a default. */
function setValue(config: object, path: KnobPath, value: KnobValue): void {
  const target = config as Record<string, KnobValue | Record<string, KnobValue>>;
  const [group = "", key] = path.split(".");
  const isOmitted = value === omittedValue(path);
  if (key === undefined) target[path] = value;
  else if (!isOmitted) Object.assign(target[group] ??= {}, { [key]: value });
  else delete (target[group] as Record<string, KnobValue> | undefined)?.[key];
}

export function valueAt(config: RunConfig, path: KnobPath): KnobValue {
  let node: unknown = config;
  for (const key of path.split(".")) node = (node as Record<string, unknown> | undefined)?.[key];
  return (node ?? omittedValue(path)) as KnobValue;
}
