/**
 * The two halves of a transformer block, each norm, work, residual. A codec gives the first and last block of a stage
 * other ends (block_ends.ts), so both halves let the caller choose their residual and where gradients come from and go to.
 */

import { qkvWidth } from "../attention_sizes.ts";
import type { BufferRange } from "../stage_ops.ts";
import { buildLinear, buildNorm, type Hold, type LayerContext, type Piece } from "./context.ts";

export interface HalfOptions {
  readonly layer: number;
  readonly hold: Hold;
  readonly input: BufferRange; // (rows, d)
  readonly residual: BufferRange | undefined; // added to the output
  readonly output: BufferRange; // (rows, d)
  readonly outputGradient: BufferRange; // (rows, d)
  readonly inputGradient: BufferRange; // (rows, d)
  readonly accumulate: boolean; // add to inputGradient, which already holds the residual's share
}

const tensorName = (layer: number, part: string) => `model.layers.${layer}.${part}.weight`;

/** output = residual + Attn(RMSNorm(input)). */
export function buildAttentionHalf(context: LayerContext, options: HalfOptions): Piece {
  const { ops, buffers, rows, width, attention: sizes } = context;
  const { layer, hold, input, residual, output, outputGradient, inputGradient, accumulate } = options;
  const name = (part: string) => tensorName(layer, part);
  const ofNorm: Hold = (part, count) => hold(`attention norm ${part}`, count);
  const norm = buildNorm(context, { name: name("input_layernorm"), input, hold: ofNorm });
  const fused = qkvWidth(sizes);
  const qkv = hold("qkv", rows * fused);
  const mixed = hold("attention output", rows * width);
  const logSumExp = hold("log-sum-exp", rows * sizes.heads);
  const qkvGradient = buffers.scratch("qkv gradient", rows * fused);
  const mixedGradient = buffers.scratch("attention output gradient", rows * width);
  const normGradient = buffers.scratch("norm output gradient", rows * width);
  const delta = buffers.scratch("attention delta", rows * sizes.heads);
  const project = buildLinear(context, {
    names: [name("self_attn.q_proj"), name("self_attn.v_proj")],
    inWidth: width,
    outWidth: fused,
    input: norm.output,
    output: qkv,
    outputGradient: qkvGradient,
    inputGradient: normGradient,
  });
  const merge = buildLinear(context, {
    names: [name("self_attn.o_proj")],
    inWidth: width,
    outWidth: width,
    input: mixed,
    output,
    residual,
    outputGradient,
    inputGradient: mixedGradient,
  });
  const table = context.ropeTable;
  const tensors = { qkv, output: mixed, logSumExp };
  return {
    forward: [
      norm.forward,
      ...project.forward,
      ops.rotate({ ...sizes, direction: 1 }, { table, qkv }),
      ops.attention(sizes, tensors),
      ...merge.forward,
    ],
    backward: [
      ...merge.backward,
      ...ops.attentionBackward(sizes, { ...tensors, outputGradient: mixedGradient, delta, qkvGradient }),
      ops.rotate({ ...sizes, direction: -1 }, { table, qkv: qkvGradient }),
      ...project.backward,
      ...norm.backward({ outputGradient: normGradient, inputGradient, accumulate }),
    ],
  };
}

/** output = residual + W_down (silu(gate) * up) of RMSNorm(input). */
export function buildFfnHalf(context: LayerContext, options: HalfOptions): Piece {
  const { ops, buffers, rows, width, spec } = context;
  const { layer, hold, input, residual, output, outputGradient, inputGradient, accumulate } = options;
  const { ffnWidth } = spec.model;
  const name = (part: string) => tensorName(layer, part);
  const ofNorm: Hold = (part, count) => hold(`FFN norm ${part}`, count);
  const norm = buildNorm(context, { name: name("post_attention_layernorm"), input, hold: ofNorm });
  const gateUp = hold("gate and up", rows * 2 * ffnWidth);
  const activated = hold("activated", rows * ffnWidth);
  const activatedGradient = buffers.scratch("activated gradient", rows * ffnWidth);
  const gateUpGradient = buffers.scratch("gate and up gradient", rows * 2 * ffnWidth);
  const normGradient = buffers.scratch("norm output gradient", rows * width);
  const expand = buildLinear(context, {
    names: [name("mlp.gate_proj"), name("mlp.up_proj")],
    inWidth: width,
    outWidth: 2 * ffnWidth,
    input: norm.output,
    output: gateUp,
    outputGradient: gateUpGradient,
    inputGradient: normGradient,
  });
  const contract = buildLinear(context, {
    names: [name("mlp.down_proj")],
    inWidth: ffnWidth,
    outWidth: width,
    input: activated,
    output,
    residual,
    outputGradient,
    inputGradient: activatedGradient,
  });
  const sizes = { rows, width: ffnWidth };
  return {
    forward: [norm.forward, ...expand.forward, ops.swiglu(sizes, { gateUp, activated }), ...contract.forward],
    backward: [
      ...contract.backward,
      ops.swigluBackward(sizes, { gateUp, activatedGradient, gateUpGradient }),
      ...expand.backward,
      ...norm.backward({ outputGradient: normGradient, inputGradient, accumulate }),
    ],
  };
}
