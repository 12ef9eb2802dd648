/**
 * A whole stage forward and backward in float64: embedding or wire values in, wire values or logits out.
 *
 * Out of scope: bytes and rounding (stage.ts), so a chain of passes is one smooth function that finite differences can check.
 * Gradients accumulate in the model; the passes own only activations.
 */

import { blockBackward, blockForward, type BlockPass } from "./block.ts";
import { embedding, embeddingBackward } from "./embedding.ts";
import { linear, linearBackward } from "./linear.ts";
import { present } from "../../../core/assert.ts";
import { rmsNorm, rmsNormBackward } from "./rms_norm.ts";
import { sideBackward, sideForward } from "./side.ts";
import { type StageModel, tensorOf } from "./stage_model.ts";

/** Token ids (B, T) at the head, wire values (B, T, width) elsewhere. */
export type PassInput =
  | { readonly type: "tokens"; readonly tokens: Uint32Array }
  | { readonly type: "values"; readonly values: Float64Array; readonly tokens?: Uint32Array | null }; // their ids, where they cross

export interface StagePass {
  readonly input: PassInput;
  readonly blocks: readonly BlockPass[];
  readonly output: Float64Array; // wire values, or the residual stream (N, d) at the tail
}

const embeddingName = "model.embed_tokens.weight";

export function stageForward(model: StageModel, input: PassInput): StagePass {
  const { firstLayer, layerCount, model: { width } } = model.spec;
  let values = input.type === "tokens"
    ? embedding({ tokens: input.tokens, table: tensorOf(model, embeddingName).value }, width)
    : input.values;
  const blocks: BlockPass[] = [];
  const side = sideOf(model, input);
  for (let layer = firstLayer; layer < firstLayer + layerCount; layer++) {
    const ofSide = side !== null && layer === firstLayer ? sideForward(side, side.tokens) : null;
    const block = blockForward(model, layer, { input: values, side: ofSide });
    blocks.push(block);
    values = block.output;
  }
  return { input, blocks, output: values };
}

/** Null where the stage keeps nothing of a token. */
function sideOf(model: StageModel, { type, tokens }: PassInput) {
  const { sideWidth } = model.spec.wireIn ?? {};
  if (type === "tokens" || sideWidth === undefined) return null;
  return { model, sideWidth, tokens: present(tokens, "ids cross to a stage that keeps something of each token") };
}

/** Gradient of the wire values that came in; null when token ids did. */
export function stageBackward(model: StageModel, pass: StagePass, dOutput: Float64Array): Float64Array | null {
  let dInput = dOutput;
  let ds = dOutput; // of the first block in the end
  for (const block of pass.blocks.toReversed()) ({ input: dInput, side: ds } = blockBackward(model, block, dInput));
  const side = sideOf(model, pass.input);
  if (side !== null) sideBackward(side, { tokens: side.tokens, ds });
  if (pass.input.type === "values") return dInput;
  const table = tensorOf(model, embeddingName);
  embeddingBackward({ tokens: pass.input.tokens, dx: dInput, dTable: table.gradient }, model.spec.model.width);
  return null;
}

export interface HeadPass {
  readonly residual: Float64Array; // (rows, d)
  readonly normed: Float64Array; // (rows, d)
  readonly logits: Float64Array; // (rows, V)
}

function headTensors(model: StageModel) {
  return { norm: tensorOf(model, "model.norm.weight"), head: tensorOf(model, "lm_head.weight") };
}

/** Final norm and head over any rows of the residual stream. */
export function headForward(model: StageModel, residual: Float64Array): HeadPass {
  const { width, vocabSize, normEpsilon } = model.spec.model;
  const { norm, head } = headTensors(model);
  const rows = residual.length / width;
  const normed = rmsNorm({ x: residual, gain: norm.value }, { rows, width, epsilon: normEpsilon });
  const logits = linear({ x: normed, matrix: head.value }, { rows, inputs: width, outputs: vocabSize });
  return { residual, normed, logits };
}

/** Gradient of the residual stream (rows, d). */
export function headBackward(model: StageModel, pass: HeadPass, dLogits: Float64Array): Float64Array {
  const { width, vocabSize, normEpsilon } = model.spec.model;
  const { norm, head } = headTensors(model);
  const rows = pass.residual.length / width;
  const dNormed = linearBackward(
    { x: pass.normed, matrix: head.value, dy: dLogits, dMatrix: head.gradient },
    { rows, inputs: width, outputs: vocabSize },
  );
  return rmsNormBackward(
    { x: pass.residual, gain: norm.value, dy: dNormed, dGain: norm.gradient },
    { rows, width, epsilon: normEpsilon },
  );
}

/** Mean over the T tokens of each of the B sequences. */
export function meanPerSequence(model: StageModel, losses: Float64Array): Float64Array {
  const { sequences, model: { contextLength } } = model.spec;
  const means = new Float64Array(sequences);
  losses.forEach((loss, n) => means[Math.floor(n / contextLength)]! += loss / contextLength);
  return means;
}

/** Row `position` of each sequence of the residual stream, as (B, d). */
export function rowsAt(model: StageModel, residual: Float64Array, position: number): Float64Array {
  const { sequences, model: { contextLength, width } } = model.spec;
  const rows = new Float64Array(sequences * width);
  for (let b = 0; b < sequences; b++) {
    const from = (b * contextLength + position) * width;
    rows.set(residual.subarray(from, from + width), b * width);
  }
  return rows;
}
