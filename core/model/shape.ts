/**
 * The numbers of a run that determine the model and its division into stages.
 *
 * Owns: the shape. core/config makes knobs of these (default, unit, limits) and checks that a model with them can be
 * built, so config knows the model and the model does not know config.
 */

import type { Codec, GradientBits } from "../codec/codec_names.ts";

export interface ModelShape {
  vocabSize: number; // V, rows of embedding and head
  width: number; // d, channels of the residual stream
  layers: number; // transformer blocks in the whole model
  heads: number; // query heads
  kvHeads: number; // key/value heads (GQA)
  ffnWidth: number; // F, inner width of SwiGLU
  contextLength: number; // T, tokens per sequence
  ropeBase: number;
  normEpsilon: number;
}

export interface PipelineShape {
  stages: number; // K
  codec: Codec;
  bottleneckWidth: number; // r, values per token on the wire (bottleneck codecs)
  gradientBits?: GradientBits; // of gradients on wires with codes; absent: 8
  sideWidth?: number; // k, width of the token side embedding of later stages (side.ts); absent: 0, none
  boundaries?: string; // boundaries with another codec (boundaries.ts); absent: none
}

/** The part of a run's configuration that its stages depend on. */
export interface ModelPlan {
  readonly model: Readonly<ModelShape>;
  readonly pipeline: Readonly<PipelineShape>;
  readonly train: { readonly sequencesPerMicrobatch: number };
}

/** Parameters of the model without its stage boundaries: for people and for limits. */
export function modelParameters(model: Readonly<ModelShape>): number {
  const { width: d, layers, ffnWidth, vocabSize } = model;
  const keyValueWidth = (d / model.heads) * model.kvHeads;
  const layer = 2 * d * d + 2 * d * keyValueWidth + 3 * d * ffnWidth + 2 * d;
  return 2 * vocabSize * d + layers * layer + d;
}
