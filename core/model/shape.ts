/** The numbers of a run that determine the model and its stages. core/config makes knobs of them and checks them. */

import type { Codec, GradientBits } from "../codec/codec_names.ts";

export interface ModelShape {
  vocabSize: number; // V
  width: number; // d, of the residual stream
  layers: number;
  heads: number;
  kvHeads: number;
  ffnWidth: number; // F, of SwiGLU
  contextLength: number; // T
  ropeBase: number;
  ropeFactor?: number; // these four: rope.ts, which has what an absent one means
  ropeLowFrequency?: number;
  ropeHighFrequency?: number;
  ropeOriginalContext?: number; // tokens
  normEpsilon: number;
}

export interface PipelineShape {
  stages: number; // K
  codec: Codec;
  bottleneckWidth: number; // r, values per token
  gradientBits?: GradientBits; // on wires with codes; absent: 8
  sideWidth?: number; // k (side.ts); absent: 0, none
  boundaries?: string; // see boundaries.ts; absent: none
}

export interface ModelPlan {
  readonly model: Readonly<ModelShape>;
  readonly pipeline: Readonly<PipelineShape>;
  readonly train: { readonly sequencesPerMicrobatch: number };
}

/** Without stage boundaries. */
export function modelParameters(model: Readonly<ModelShape>): number {
  const { width: d, layers, ffnWidth, vocabSize } = model;
  const keyValueWidth = (d / model.heads) * model.kvHeads;
  const layer = 2 * d * d + 2 * d * keyValueWidth + 3 * d * ffnWidth + 2 * d;
  return 2 * vocabSize * d + layers * layer + d;
}
