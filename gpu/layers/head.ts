/** Final norm, untied output matrix and mean cross-entropy: the tail stage's way out. */

import type { BufferRange, Dispatch } from "../stage_ops.ts";
import { buildLinear, buildNorm, type LayerContext, type Piece } from "./context.ts";

const matrixName = "lm_head.weight";

export interface Head extends Piece {
  readonly targets: BufferRange; // u32 (rows)
  readonly losses: BufferRange; // (rows), nats
  /** Logits and losses, no gradient. */
  readonly evaluate: readonly Dispatch[];
  readonly sampling: Sampling;
}

/** Logits of one row per sequence: copy rows of `normed` into `picked` between the two lists. */
export interface Sampling {
  readonly norm: readonly Dispatch[];
  readonly normed: BufferRange; // (rows, d)
  readonly picked: BufferRange; // (B, d)
  readonly project: readonly Dispatch[];
  readonly logits: BufferRange; // (B, V)
}

export function buildHead(context: LayerContext, options: { input: BufferRange }): Head {
  const { ops, buffers, rows, width, spec, residualGradient } = context;
  const vocabulary = spec.model.vocabSize;
  const norm = buildNorm(context, { name: "model.norm.weight", input: options.input });
  const targets = buffers.storage("targets", rows);
  const losses = buffers.storage("losses", rows);
  const logits = buffers.storage("logits", rows * vocabulary);
  const normGradient = buffers.scratch("norm output gradient", rows * width);
  const project = buildLinear(context, {
    names: [matrixName],
    inWidth: width,
    outWidth: vocabulary,
    input: norm.output,
    output: logits,
    outputGradient: logits, // cross-entropy turns logits into their gradient
    inputGradient: normGradient,
  });
  const lossOf = (writeGradient: boolean) =>
    ops.crossEntropy({ rows, vocabulary, writeGradient }, { targets, logits, losses });
  return {
    targets,
    losses,
    forward: [norm.forward, ...project.forward, lossOf(true)],
    evaluate: [norm.forward, ...project.forward, lossOf(false)],
    backward: [
      ...project.backward,
      ...norm.backward({ outputGradient: normGradient, inputGradient: residualGradient, accumulate: false }),
    ],
    sampling: buildSampling(context, { norm: norm.forward, normed: norm.output }),
  };
}

function buildSampling(context: LayerContext, options: { norm: Dispatch; normed: BufferRange }): Sampling {
  const { ops, buffers, width, spec } = context;
  const vocabulary = spec.model.vocabSize;
  const picked = buffers.storage("picked rows", spec.sequences * width);
  const logits = buffers.storage("picked logits", spec.sequences * vocabulary);
  const sizes = { rows: spec.sequences, inWidth: width, outWidth: vocabulary };
  const weight = context.parameter(matrixName);
  return {
    norm: [options.norm],
    normed: options.normed,
    picked,
    project: [ops.linear(sizes, { input: picked, weight, output: logits })],
    logits,
  };
}
