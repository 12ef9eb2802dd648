/**
 * What one stage of the model computes, and where each of its tensors is in the stage's flat parameter vector.
 *
 * Invariants: every tensor starts at a multiple of 64 floats (256 bytes, the largest binding alignment); q, k, v of a
 * layer are adjacent, and so are gate and up, so each group is one matrix for one GEMM; matrices come first, gains
 * last, so weight decay is `offset < decayLength`. Linear weights are stored (out, in), as Hugging Face stores them.
 */

import { assert } from "../assert.ts";
import type { Boundary } from "../codec/codec.ts";
import { codecs } from "../codec/codecs.ts";
import type { WireSpec } from "../codec/wire.ts";
import { type StageIndex, stageIndex } from "../ids.ts";
import { normalFor, type TensorDraft } from "../tensor.ts";
import { wireAt, wiresOfRun } from "./boundaries.ts";
import type { ModelPlan, ModelShape } from "./shape.ts";
import { isSideTable, sideTensors } from "./side.ts";

export interface StageSpec {
  readonly model: ModelShape;
  readonly index: StageIndex;
  readonly count: number; // K
  readonly firstLayer: number;
  readonly layerCount: number;
  readonly sequences: number; // B
  readonly wireIn: WireSpec | null; // null at the head: it reads token ids
  readonly wireOut: WireSpec | null; // null at the tail: it computes the loss
}

export interface ParameterTensor extends TensorDraft {
  readonly offset: number; // floats
  readonly size: number; // floats
}

export interface ParameterTable {
  readonly tensors: readonly ParameterTensor[];
  readonly decayLength: number; // floats [0, decayLength) are matrices
  readonly length: number; // floats, padded; padding is zero and stays zero
}

const alignFloats = 64;

/** The matrices with a row for each token. */
export const embeddingName = "model.embed_tokens.weight";
export const headName = "lm_head.weight";

export const hasRowForEachToken = (name: string): boolean =>
  name === embeddingName || name === headName || isSideTable(name);

/** `layersOfStages` comes from `splitLayers` (stages.ts). */
export function stageSpecs(config: ModelPlan, layersOfStages: readonly number[]): StageSpec[] {
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
      wireIn: index === 0 ? null : wireAt(config, index),
      wireOut: index === count - 1 ? null : wireAt(config, index + 1),
    };
    firstLayer += layerCount;
    return spec;
  });
}

/**
 * The stage's tensors. Scales: 1/sqrt(fan in); outputs into the residual stream divided by sqrt(2 L), as in GPT-2. A
 * codec's tensors are at its ends, the input and the output.
 */
export function parameterTable(stage: StageSpec): ParameterTable {
  const { wireIn, wireOut, model: { width: d, vocabSize } } = stage;
  const tensors: TensorDraft[] = [];
  if (wireIn === null) {
    tensors.push({ name: embeddingName, shape: [vocabSize, d], initial: { type: "normal", std: 0.02 } });
  } else {
    tensors.push(...receiverTensors(stage, { wire: wireIn, index: stage.index }));
  }
  for (let layer = stage.firstLayer; layer < stage.firstLayer + stage.layerCount; layer++) {
    tensors.push(...layerTensors(stage, layer));
  }
  if (wireOut === null) {
    tensors.push(
      { name: headName, shape: [vocabSize, d], initial: normalFor(d) },
      { name: "model.norm.weight", shape: [d], initial: { type: "ones" } },
    );
  } else {
    tensors.push(...codecs[wireOut.codec].sender.tensors(boundaryOf(stage, { wire: wireOut, index: stage.index + 1 })));
  }
  return layOut(tensors);
}

/** The codecs' tensors at both ends of each boundary of a run. */
export function boundaryTensors(config: Pick<ModelPlan, "model" | "pipeline">): TensorDraft[][] {
  return wiresOfRun(config).map((wire, i) => {
    const boundary = boundaryOf(config, { wire, index: i + 1 });
    return [...codecs[wire.codec].sender.tensors(boundary), ...receiverTensors(config, { wire, index: i + 1 })];
  });
}

function receiverTensors(
  stage: Pick<StageSpec, "model">,
  { wire, index }: { wire: WireSpec; index: number },
): TensorDraft[] {
  const { vocabSize, width: modelWidth } = stage.model;
  const { sideWidth = 0 } = wire;
  return [
    ...codecs[wire.codec].receiver.tensors(boundaryOf(stage, { wire, index })),
    ...(sideWidth === 0 ? [] : sideTensors(index, { vocabSize, modelWidth, sideWidth })),
  ];
}

/** The most floats that a codec adds at both ends of a boundary. */
export function boundaryParameters(config: Pick<ModelPlan, "model" | "pipeline">): number {
  const floats = boundaryTensors(config).map((tensors) =>
    tensors.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)
  );
  return Math.max(0, ...floats);
}

function boundaryOf({ model }: Pick<StageSpec, "model">, { wire, index }: { wire: WireSpec; index: number }): Boundary {
  return { index, layers: model.layers, modelWidth: model.width, wireWidth: wire.width };
}

function layerTensors(stage: StageSpec, layer: number): TensorDraft[] {
  const { width: d, ffnWidth, heads, kvHeads, layers } = stage.model;
  const headWidth = d / heads;
  const name = (part: string) => `model.layers.${layer}.${part}.weight`;
  const linear = (part: string, rows: number, columns: number, scale = 1): TensorDraft => ({
    name: name(part),
    shape: [rows, columns],
    initial: normalFor(columns, scale),
  });
  const gain = (part: string): TensorDraft => ({ name: name(part), shape: [d], initial: { type: "ones" } });
  const residual = 1 / Math.sqrt(2 * layers);
  return [
    linear("self_attn.q_proj", d, d),
    linear("self_attn.k_proj", kvHeads * headWidth, d),
    linear("self_attn.v_proj", kvHeads * headWidth, d),
    linear("self_attn.o_proj", d, d, residual),
    linear("mlp.gate_proj", ffnWidth, d),
    linear("mlp.up_proj", ffnWidth, d),
    linear("mlp.down_proj", d, ffnWidth, residual),
    gain("input_layernorm"),
    gain("post_attention_layernorm"),
  ];
}

/** Matrices first, gains last, each in the order given. */
function layOut(drafts: readonly TensorDraft[]): ParameterTable {
  const isMatrix = ({ shape }: TensorDraft) => shape.length > 1;
  const tensors: ParameterTensor[] = [];
  let offset = 0;
  let decayLength = 0;
  for (const draft of [...drafts.filter(isMatrix), ...drafts.filter((draft) => !isMatrix(draft))]) {
    const size = draft.shape.reduce((a, b) => a * b, 1);
    tensors.push({ ...draft, offset, size });
    const padded = Math.ceil(size / alignFloats) * alignFloats;
    assert(
      padded === size || !isMatrix(draft),
      `The size of ${draft.name} must be a multiple of 64, and is ${size}`,
    );
    offset += padded;
    if (isMatrix(draft)) decayLength = offset;
  }
  return { tensors, decayLength, length: offset };
}
