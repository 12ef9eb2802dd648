/**
 * The two halves of a transformer block. The caller chooses the residual and where gradients go, because a codec
 * changes a stage's first and last block (block_ends.ts).
 */

import { qkvWidth } from "../attention_sizes.ts";
import { type BufferRange, type Dispatch, partOf } from "../stage_ops.ts";
import {
  buildLinear,
  buildNorm,
  type Hold,
  type LayerContext,
  type Norm,
  type Piece,
  type TokenCache,
} from "./context.ts";

interface HalfOptions {
  readonly layer: number;
  readonly hold: Hold;
  readonly input: BufferRange; // (rows, d)
  readonly residual: BufferRange | undefined;
  readonly output: BufferRange; // (rows, d)
  readonly outputGradient: BufferRange; // (rows, d)
  readonly inputGradient: BufferRange; // (rows, d)
  readonly accumulate: boolean; // inputGradient holds the residual's share
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
  const cached = context.cache && attendEarlier(context, { cache: context.cache, layer, qkv, output: mixed });
  return {
    forward: [
      norm.forward,
      ...project.forward,
      ...(cached === null
        ? [ops.rotate({ ...sizes, direction: 1 }, { table, qkv }), ops.attention(sizes, tensors)]
        : cached),
      ...merge.forward,
    ],
    backward: () => [
      ...merge.backward(),
      ...ops.attentionBackward(sizes, { ...tensors, outputGradient: mixedGradient, delta, qkvGradient }),
      ops.rotate({ ...sizes, direction: -1 }, { table, qkv: qkvGradient }),
      ...project.backward(),
      ...norm.backward({ outputGradient: normGradient, inputGradient, accumulate }),
    ],
  };
}

/** The rows' own tokens join the cache first, so that rows of one stream see each other. */
function attendEarlier(
  { ops, ropeTable: table }: LayerContext,
  { cache, layer, qkv, output }: { cache: TokenCache; layer: number; qkv: BufferRange; output: BufferRange },
): Dispatch[] {
  const tensors = { places: cache.places, qkv, ...cache.ofLayer(layer) };
  return [ops.cacheTokens(cache, { ...tensors, table }), ops.attendCache(cache, { ...tensors, output })];
}

const ffnRows = 2048; // a multiple of 64: any adapter can bind it

/**
 * output = residual + W_down (silu(gate) * up) of RMSNorm(input).
 *
 * Some rows at a time, because the expanded rows are a block's largest memory: parts share it for gradients, and for
 * recomputed values. Weights' gradients are summed in the same order either way.
 */
export function buildFfnHalf(context: LayerContext, options: HalfOptions): Piece {
  const { buffers, rows, recomputes, spec: { model: { ffnWidth } } } = context;
  const { layer, hold, input, inputGradient, accumulate } = options;
  const ofNorm: Hold = (part, count) => hold(`FFN norm ${part}`, count);
  const norm = buildNorm(context, { name: tensorName(layer, "post_attention_layernorm"), input, hold: ofNorm });
  const normGradient = buffers.scratch("norm output gradient", rows * context.width);
  const held = Math.min(rows, ffnRows);
  const kept = recomputes ? held : rows;
  const memory: FfnMemory = {
    gateUp: hold("gate and up", kept * 2 * ffnWidth),
    activated: hold("activated", kept * ffnWidth),
    activatedGradient: buffers.scratch("activated gradient", held * ffnWidth),
    gateUpGradient: buffers.scratch("gate and up gradient", held * 2 * ffnWidth),
  };
  const parts = Array.from({ length: Math.ceil(rows / held) }, (_, i) => {
    const first = i * held;
    const own = { first, rows: Math.min(held, rows - first), firstHeld: recomputes ? 0 : first };
    return buildFfnPart(context, { ...options, ...own, norm, normGradient, memory });
  });
  return {
    forward: [norm.forward, ...parts.flatMap(({ expand, contract }) => [...expand, ...contract])],
    again: [norm.forward],
    backward: () => [
      ...parts.flatMap(({ expand, backward }) => recomputes ? [...expand, ...backward()] : backward()),
      ...norm.backward({ outputGradient: normGradient, inputGradient, accumulate }),
    ],
  };
}

interface FfnMemory {
  readonly gateUp: BufferRange; // (rows, 2 ffnWidth), of all rows or one part's
  readonly activated: BufferRange; // (rows, ffnWidth)
  readonly activatedGradient: BufferRange; // one part's rows
  readonly gateUpGradient: BufferRange;
}

interface FfnPart extends HalfOptions {
  readonly first: number;
  readonly rows: number;
  readonly firstHeld: number; // first row in gateUp and activated
  readonly norm: Norm;
  readonly normGradient: BufferRange; // (rows, d), all rows
  readonly memory: FfnMemory;
}

function buildFfnPart(context: LayerContext, part: FfnPart) {
  const { ops, width, spec: { model: { ffnWidth } } } = context;
  const { layer, first, rows, firstHeld, memory, residual } = part;
  const { activatedGradient, gateUpGradient } = memory;
  const name = (tensor: string) => tensorName(layer, `mlp.${tensor}`);
  const ofTask = (range: BufferRange) => rowsOf(range, { first, rows, width });
  const gateUp = rowsOf(memory.gateUp, { first: firstHeld, rows, width: 2 * ffnWidth });
  const activated = rowsOf(memory.activated, { first: firstHeld, rows, width: ffnWidth });
  const expand = buildLinear(context, {
    ...{ names: [name("gate_proj"), name("up_proj")], rows, inWidth: width, outWidth: 2 * ffnWidth },
    ...{ input: ofTask(part.norm.output), output: gateUp },
    ...{ outputGradient: gateUpGradient, inputGradient: ofTask(part.normGradient) },
  });
  const contract = buildLinear(context, {
    ...{ names: [name("down_proj")], rows, inWidth: ffnWidth, outWidth: width },
    ...{ input: activated, output: ofTask(part.output), residual: residual && ofTask(residual) },
    ...{ outputGradient: ofTask(part.outputGradient), inputGradient: activatedGradient },
  });
  const sizes = { rows, width: ffnWidth };
  return {
    expand: [...expand.forward, ops.swiglu(sizes, { gateUp, activated })],
    contract: contract.forward,
    backward: () => [
      ...contract.backward(),
      ops.swigluBackward(sizes, { gateUp, activatedGradient, gateUpGradient }),
      ...expand.backward(),
    ],
  };
}

const rowsOf = (range: BufferRange, { first, rows, width }: { first: number; rows: number; width: number }) =>
  partOf(range, { offset: first * width, size: rows * width });
