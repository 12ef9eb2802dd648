/**
 * What one stage of the model computes, and where each of its tensors lies in the stage's flat parameter vector.
 *
 * Invariants: every tensor starts at a multiple of 64 floats (256 bytes, the largest binding alignment); q, k, v of a layer
 * are adjacent, and so are gate and up, so each group is one matrix for one GEMM; matrices come first, gains last, so weight
 * decay is `offset < decayLength`. Linear weights are stored (out, in), as Hugging Face stores them.
 */

import { assert } from "../assert.ts";
import type { Codec, ModelConfig, RunConfig } from "../config/config.ts";
import { type StageIndex, stageIndex } from "../ids.ts";

/** The tensor that crosses a stage boundary. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token: d for `none`, r for `iota`
  readonly bytesPerValue: 2 | 4; // bf16 for `iota`, f32 for `none`
}

export interface StageSpec {
  readonly model: ModelConfig;
  readonly index: StageIndex;
  readonly count: number; // K
  readonly firstLayer: number;
  readonly layerCount: number;
  readonly sequences: number; // B
  readonly wireIn: WireSpec | null; // null at the head: it reads token ids
  readonly wireOut: WireSpec | null; // null at the tail: it computes the loss
}

export type Initial = { readonly type: "normal"; readonly std: number } | { readonly type: "ones" };

export interface ParameterTensor {
  readonly name: string; // Hugging Face's name; ours under `model.boundary.`
  readonly shape: readonly number[]; // (out, in) or (n)
  readonly offset: number; // floats
  readonly size: number; // floats
  readonly initial: Initial;
}

export interface ParameterTable {
  readonly tensors: readonly ParameterTensor[];
  readonly decayLength: number; // floats [0, decayLength) are matrices
  readonly length: number; // floats, padded; padding is zero and stays zero
}

const alignFloats = 64;

export function wireSpec(config: RunConfig): WireSpec {
  return config.pipeline.codec === "none"
    ? { codec: "none", width: config.model.width, bytesPerValue: 4 }
    : { codec: "iota", width: config.pipeline.bottleneckWidth, bytesPerValue: 2 };
}

/** Bytes one microbatch puts on a boundary, one direction. */
export function wireBytes(stage: StageSpec, wire: WireSpec): number {
  return stage.sequences * stage.model.contextLength * wire.width * wire.bytesPerValue;
}

/** `layersOfStages` comes from `splitLayers` (stages.ts). */
export function stageSpecs(config: RunConfig, layersOfStages: readonly number[]): StageSpec[] {
  const wire = wireSpec(config);
  const count = layersOfStages.length;
  let firstLayer = 0;
  return layersOfStages.map((layerCount, index) => {
    const spec: StageSpec = {
      model: config.model,
      index: stageIndex(index),
      count,
      firstLayer,
      layerCount,
      sequences: config.train.sequencesPerMicrobatch,
      wireIn: index === 0 ? null : wire,
      wireOut: index === count - 1 ? null : wire,
    };
    firstLayer += layerCount;
    return spec;
  });
}

type Draft = { name: string; shape: number[]; initial: Initial };

/** The stage's tensors. Scales: 1/sqrt(fan in); outputs into the residual stream divided by sqrt(2 L), as in GPT-2. */
export function parameterTable(stage: StageSpec): ParameterTable {
  const { width: d, vocabSize, layers } = stage.model;
  const matrices: Draft[] = [];
  const gains: Draft[] = [];
  const normal = (fanIn: number, scale = 1): Initial => ({ type: "normal", std: scale / Math.sqrt(fanIn) });
  if (stage.wireIn === null) {
    matrices.push({ name: "model.embed_tokens.weight", shape: [vocabSize, d], initial: { type: "normal", std: 0.02 } });
  }
  if (stage.wireIn?.codec === "iota") {
    matrices.push({
      name: `model.boundary.${stage.index}.decoder.weight`,
      shape: [d, stage.wireIn.width],
      initial: normal(stage.wireIn.width),
    });
  }
  for (let layer = stage.firstLayer; layer < stage.firstLayer + stage.layerCount; layer++) {
    layerTensors(stage, layer, { matrices, gains });
  }
  if (stage.wireOut?.codec === "iota") {
    matrices.push({
      name: `model.boundary.${stage.index + 1}.encoder.weight`,
      shape: [stage.wireOut.width, d],
      initial: normal(d, 1 / Math.sqrt(2 * layers)),
    });
  }
  if (stage.wireOut === null) {
    matrices.push({ name: "lm_head.weight", shape: [vocabSize, d], initial: normal(d) });
    gains.push({ name: "model.norm.weight", shape: [d], initial: { type: "ones" } });
  }
  return layOut(matrices, gains);
}

function layerTensors(stage: StageSpec, layer: number, out: { matrices: Draft[]; gains: Draft[] }): void {
  const { width: d, ffnWidth, heads, kvHeads, layers } = stage.model;
  const headWidth = d / heads;
  const name = (part: string) => `model.layers.${layer}.${part}.weight`;
  const linear = (part: string, rows: number, columns: number, scale = 1): Draft => ({
    name: name(part),
    shape: [rows, columns],
    initial: { type: "normal", std: scale / Math.sqrt(columns) },
  });
  const residual = 1 / Math.sqrt(2 * layers);
  out.matrices.push(
    linear("self_attn.q_proj", d, d),
    linear("self_attn.k_proj", kvHeads * headWidth, d),
    linear("self_attn.v_proj", kvHeads * headWidth, d),
    linear("self_attn.o_proj", d, d, residual),
    linear("mlp.gate_proj", ffnWidth, d),
    linear("mlp.up_proj", ffnWidth, d),
    linear("mlp.down_proj", d, ffnWidth, residual),
  );
  out.gains.push(
    { name: name("input_layernorm"), shape: [d], initial: { type: "ones" } },
    { name: name("post_attention_layernorm"), shape: [d], initial: { type: "ones" } },
  );
}

function layOut(matrices: Draft[], gains: Draft[]): ParameterTable {
  const tensors: ParameterTensor[] = [];
  let offset = 0;
  let decayLength = 0;
  for (const draft of [...matrices, ...gains]) {
    if (draft === gains[0]) decayLength = offset;
    const size = draft.shape.reduce((a, b) => a * b, 1);
    tensors.push({ ...draft, offset, size });
    const padded = Math.ceil(size / alignFloats) * alignFloats;
    assert(
      padded === size || draft.shape.length === 1,
      `Cannot place ${draft.name} as its size must be a multiple of 64: current value is ${size}`,
    );
    offset += padded;
  }
  return { tensors, decayLength, length: offset };
}
