/** Why a setting that nobody gave has its value, as `iota plan` prints it: the sizes' rules (size.ts) and the derivations. */

import type { RunConfig } from "../config/config.ts";
import type { KnobPath } from "../config/knob.ts";
import { isMeasured } from "../config/round_length.ts";
import { wiresOfRun } from "../model/boundaries.ts";
import { modelParameters } from "../model/shape.ts";
import { optimizerOf } from "../train/optimizers.ts";
import { payloadCodecOf } from "../update/payload/payload_codecs.ts";

type Reason = string | ((config: RunConfig) => string);

const shape = "the size's; from 1b up the original IOTA's";
const narrowWire = "with the codes' bits 1/32 to 1/64 of bfloat16's bytes, both ways";
const patience = "the size's; larger stages take longer";

const isNarrow = (config: RunConfig): boolean => wiresOfRun(config).some(({ width }) => width < config.model.width);

const outer = (config: RunConfig): string =>
  payloadCodecOf(config).keepsResidual
    ? "sparse payloads keep a residual, which acts as momentum"
    : config.outer.momentum === 0
    ? "plain averaging: best in short runs"
    : "DiLoCo's outer step, for long runs";

const reasons: Partial<Record<KnobPath, Reason>> = {
  "model.vocabSize": "Llama 3's from 1b up; smaller models see less text",
  "model.width": shape,
  "model.layers": "the size's, and at least one per stage",
  "model.heads": shape,
  "model.kvHeads": shape,
  "model.ffnWidth": shape,
  "model.contextLength": "the size's; longer texts need more memory per task",
  "model.ropeBase": "Llama 3's 500,000 where contexts are long, else Llama 2's 10,000",
  "pipeline.stages": ({ model, pipeline }) =>
    pipeline.stages === model.layers
      ? "a layer each"
      : "as many as let 16 bytes per parameter and activations fit 16 GiB",
  "pipeline.codec": "q5block: measured best at tiny and small; toy has the original IOTA's",
  "pipeline.bottleneckWidth": (config) => isNarrow(config) ? narrowWire : "not used: whole streams cross",
  "pipeline.sideWidth": (config) =>
    isNarrow(config) ? "measured at tiny and small; toy has none" : "0: whole streams cross",
  "pipeline.gradientBits": ({ pipeline }) =>
    pipeline.gradientBits === undefined ? "the codec's own" : "a token's gradient takes the bytes of its forward",
  "train.sequencesPerMicrobatch": "a task's activations fit beside its stage",
  "train.microbatchesPerStep": ({ train, model }) =>
    `${train.microbatchesPerStep * train.sequencesPerMicrobatch * model.contextLength} tokens a step`,
  "train.steps": ({ train, model }) => {
    const tokens = train.steps * train.microbatchesPerStep * train.sequencesPerMicrobatch * model.contextLength;
    return `${
      Number((tokens / modelParameters(model)).toPrecision(2))
    } tokens per parameter; about 20 is best for a given compute`;
  },
  "train.stepsPerRound": ({ train }) =>
    isMeasured(train) ? "0: merges as often as links and machines allow" : "DiLoCo's interval, or the run's length",
  "train.mostStepsPerRound": "at least 8 merges, at most 30 steps between two",
  "train.optimizer": (config) =>
    optimizerOf(config) === "muon" ? "measured better than AdamW at tiny and small" : "the simplest",
  "train.learningRate": ({ size }) =>
    size === "toy" ? "high, for a few steps" : "measured at tiny; falls with the size as in published runs",
  "train.warmupSteps": ({ train }) =>
    `${Number((100 * train.warmupSteps / train.steps).toPrecision(2))} % of the steps`,
  "train.joinWarmupSteps": "15 % of the longest round",
  "outer.learningRate": outer,
  "outer.momentum": outer,
  "outer.payload": ({ outer }) =>
    outer.payload === "int8" ? "a quarter of float32's bytes, and no worse at tiny" : "every bit, as a toy can afford",
  "data.maxBytes": ({ data }) => data.maxBytes === 0 ? "0: all of the text" : "more text than the steps read",
  "validate.heldOutSequences": "the size's, at most four steps' sequences",
  "limits.leaseMs": patience,
  "limits.mergePhaseMs": patience,
  "limits.mergeGraceMs": "a quarter of mergePhaseMs",
  "limits.frameBytes": "the largest task or evaluation, at least 4 MiB",
  "limits.outboxBytes": "four messages, at least 64 MiB",
  "limits.blobBytes": "8 bytes per parameter of the whole model, at least 64 MiB",
};

/** Null: a constant default, or none of a run's numbers. */
export function reasonFor(config: RunConfig, path: KnobPath): string | null {
  const reason = reasons[path];
  return typeof reason === "function" ? reason(config) : reason ?? null;
}
