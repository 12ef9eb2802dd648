/**
 * What one stage computes, and where its tensors are in its flat parameter vector.
 *
 * Tensors start at multiples of 64 floats (256 bytes, the largest binding alignment). A layer's q, k, v are adjacent,
 * and gate and up, for one GEMM each. Matrices precede gains, so weight decay is `offset < decayLength`. Linear weights
 * are (out, in), as at Hugging Face.
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
  readonly wireIn: WireSpec | null; // null at the head
  readonly wireOut: WireSpec | null; // null at the tail
}

export interface ParameterTensor extends TensorDraft {
  readonly offset: number; // floats
  readonly size: number; // floats
}

export interface ParameterTable {
  readonly tensors: readonly ParameterTensor[];
  readonly decayLength: number; // [0, decayLength) are matrices
  readonly length: number; // floats, with padding, which stays zero
}

const alignFloats = 64;

export const embeddingName = "model.embed_tokens.weight";
export const headName = "lm_head.weight";

export const hasRowForEachToken = (name: string): boolean =>
  name === embeddingName || name === headName || isSideTable(name);

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

/** Scales: 1/sqrt(fan in); outputs into the residual stream divided by sqrt(2 L), as in GPT-2. */
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

/** At both ends of each boundary. */
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

/** Most floats that a boundary adds. */
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
