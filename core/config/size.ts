/**
 * What each `--size` sets before files and flags override it; derive.ts has what follows from others.
 *
 * Shapes from 1b up are the original IOTA's, with more stages where 16 bytes per parameter (value, gradient, two
 * moments) and activations would not fit 16 GiB. Learning rates fall to 3e-4 at 7B. Runs have about 20 tokens per
 * parameter and, from 100m up, 1-2 % warm-up. Short runs average at measured intervals, long ones use DiLoCo's step and
 * interval. Codec, optimizer, payload and rate were measured at `tiny`, codec and side embedding also at `small`
 * (tests/lab/LOG.md), with 1/32 and 1/64 of bfloat16's bytes both ways. Larger sizes are extrapolated. `tiny` has small
 * tasks, so that steps over slow links wait less.
 */

import { type Codec, defaultGradientBits } from "../codec/codec_names.ts";
import type { PayloadCodecName } from "./payload_codec_names.ts";
import type { OptimizerName } from "./optimizer_names.ts";
import type { KnobPath, KnobValueAt } from "./knob.ts";

/** `toy` is for tests: seconds of training. */
export const sizeNames = ["toy", "tiny", "small", "100m", "1b", "3b", "8b", "15b"] as const;
export type SizeName = typeof sizeNames[number];
export const defaultSize: SizeName = "tiny";

type RopeScalingPath = Exclude<Extract<KnobPath, `model.rope${string}`>, "model.ropeBase">;

type SizedPath =
  | Exclude<Extract<KnobPath, `model.${string}`>, "model.normEpsilon" | RopeScalingPath>
  | "pipeline.stages"
  | "pipeline.codec"
  | "pipeline.bottleneckWidth"
  | "pipeline.gradientBits"
  | "pipeline.sideWidth"
  | "train.sequencesPerMicrobatch"
  | "train.microbatchesPerStep"
  | "train.steps"
  | "train.stepsPerRound"
  | "train.optimizer"
  | "train.learningRate"
  | "train.warmupSteps"
  | "outer.learningRate"
  | "outer.momentum"
  | "outer.payload"
  | "data.maxBytes"
  | "validate.heldOutSequences"
  | "limits.leaseMs"
  | "limits.mergePhaseMs";

type Preset = { readonly [Path in SizedPath]: KnobValueAt<Path> };

interface PresetParts {
  readonly model: readonly [width: number, layers: number, heads: number, kvHeads: number, ffnWidth: number];
  readonly vocabSize: number;
  readonly contextLength: number;
  readonly ropeBase: number;
  readonly pipeline: readonly [stages: number, codec: Codec, bottleneckWidth: number, sideWidth: number];
  readonly batch: readonly [sequencesPerMicrobatch: number, microbatchesPerStep: number];
  readonly run: readonly [steps: number, stepsPerRound: number, warmupSteps: number];
  readonly inner: readonly [optimizer: OptimizerName, learningRate: number];
  readonly outer: readonly [learningRate: number, momentum: number];
  readonly payload: PayloadCodecName;
  readonly maxBytes: number;
  readonly heldOutSequences: number;
  readonly patienceMs: readonly [lease: number, mergePhase: number];
}

function preset(parts: PresetParts): Preset {
  const [width, layers, heads, kvHeads, ffnWidth] = parts.model;
  return {
    "model.vocabSize": parts.vocabSize,
    "model.width": width,
    "model.layers": layers,
    "model.heads": heads,
    "model.kvHeads": kvHeads,
    "model.ffnWidth": ffnWidth,
    "model.contextLength": parts.contextLength,
    "model.ropeBase": parts.ropeBase,
    "pipeline.stages": parts.pipeline[0],
    "pipeline.codec": parts.pipeline[1],
    "pipeline.bottleneckWidth": parts.pipeline[2],
    "pipeline.gradientBits": parts.pipeline[3] === 0 ? defaultGradientBits : gradientBits,
    "pipeline.sideWidth": parts.pipeline[3],
    "train.sequencesPerMicrobatch": parts.batch[0],
    "train.microbatchesPerStep": parts.batch[1],
    "train.steps": parts.run[0],
    "train.stepsPerRound": parts.run[1],
    "train.warmupSteps": parts.run[2],
    "train.optimizer": parts.inner[0],
    "train.learningRate": parts.inner[1],
    "outer.learningRate": parts.outer[0],
    "outer.momentum": parts.outer[1],
    "outer.payload": parts.payload,
    "data.maxBytes": parts.maxBytes,
    "validate.heldOutSequences": parts.heldOutSequences,
    "limits.leaseMs": parts.patienceMs[0],
    "limits.mergePhaseMs": parts.patienceMs[1],
  };
}

const gradientBits = 7; // 8 gradient values and their scale take 8 bytes, like forward with a token's id
const measured = 0; // by links and machines
const averaging = [1, 0] as const;
const diloco = [0.7, 0.9] as const;
const llamaVocab = 128_256;
const minute = 60_000; // ms

/** Parameters: toy 50 k, tiny 0.85 M, small 8.4 M, 100m 101 M, then as the name says. */
export const presets: Readonly<Record<SizeName, Preset>> = {
  "toy": preset({
    model: [32, 3, 2, 1, 64],
    vocabSize: 320, // 256 bytes and a few merges, the least for a byte-level tokenizer
    contextLength: 16,
    ropeBase: 10_000,
    pipeline: [3, "iota", 8, 0],
    batch: [2, 4],
    run: [20, 5, 2],
    inner: ["adamw", 5e-3],
    outer: averaging,
    payload: "float32",
    maxBytes: 200_000,
    heldOutSequences: 8,
    patienceMs: [minute / 2, minute / 2],
  }),
  "tiny": preset({
    model: [128, 3, 4, 2, 384],
    vocabSize: 1024,
    contextLength: 128,
    ropeBase: 10_000,
    pipeline: [3, "q5block", 8, 64],
    batch: [2, 8],
    run: [300, measured, 15],
    inner: ["muon", 5.6e-3],
    outer: averaging,
    payload: "int8",
    maxBytes: 4_000_000,
    heldOutSequences: 32,
    patienceMs: [minute, minute],
  }),
  "small": preset({
    model: [256, 8, 8, 4, 768],
    vocabSize: 4096,
    contextLength: 256,
    ropeBase: 10_000,
    pipeline: [4, "q5block", 8, 64],
    batch: [8, 16],
    run: [1000, measured, 50],
    inner: ["muon", 1e-3],
    outer: averaging,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [minute, 2 * minute],
  }),
  "100m": preset({
    model: [768, 12, 12, 4, 2048],
    vocabSize: 16_384,
    contextLength: 1024,
    ropeBase: 10_000,
    pipeline: [3, "q5block", 32, 64],
    batch: [8, 32],
    run: [8000, 30, 160],
    inner: ["muon", 6e-4],
    outer: diloco,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [2 * minute, 5 * minute],
  }),
  "1b": preset({
    model: [2048, 16, 32, 8, 8192],
    vocabSize: llamaVocab,
    contextLength: 2048,
    ropeBase: 500_000,
    pipeline: [3, "q5block", 40, 64],
    batch: [4, 64],
    run: [60_000, 30, 1000],
    inner: ["muon", 4e-4],
    outer: diloco,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [5 * minute, 20 * minute],
  }),
  "3b": preset({
    model: [3072, 28, 24, 8, 8192],
    vocabSize: llamaVocab,
    contextLength: 2048,
    ropeBase: 500_000,
    pipeline: [5, "q5block", 64, 64],
    batch: [4, 128],
    run: [70_000, 30, 1000],
    inner: ["muon", 3e-4],
    outer: diloco,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [5 * minute, 30 * minute],
  }),
  "8b": preset({
    model: [4096, 32, 32, 8, 14_336],
    vocabSize: llamaVocab,
    contextLength: 4096,
    ropeBase: 500_000,
    pipeline: [10, "q5block", 88, 64],
    batch: [1, 256],
    run: [150_000, 30, 2000],
    inner: ["muon", 3e-4],
    outer: diloco,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [10 * minute, 30 * minute],
  }),
  "15b": preset({
    model: [5120, 50, 40, 8, 13_824],
    vocabSize: llamaVocab,
    contextLength: 4096,
    ropeBase: 500_000,
    pipeline: [18, "q5block", 112, 48],
    batch: [1, 512],
    run: [150_000, 30, 2000],
    inner: ["muon", 2e-4],
    outer: diloco,
    payload: "int8",
    maxBytes: 0,
    heldOutSequences: 64,
    patienceMs: [10 * minute, 30 * minute],
  }),
};

export function isSizeName(value: unknown): value is SizeName {
  return sizeNames.some((name) => name === value);
}

export function isSizedPath(path: KnobPath): path is SizedPath {
  return Object.hasOwn(presets[defaultSize], path);
}
