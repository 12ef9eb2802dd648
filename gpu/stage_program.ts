/**
 * A stage as dispatches per direction: way in (embedding or a codec's receiver), blocks, way out (head or a codec's
 * sender). All memory of a task is allocated here.
 */

import { present } from "../core/assert.ts";
import { type Wire, withoutIds } from "../core/codec/wire.ts";
import { stageWires } from "../core/model/stage_wires.ts";
import { ropeTable } from "./attention_sizes.ts";
import type { WireBuffers, WireTransfer } from "./codecs/codec.ts";
import { gpuCodecs } from "./codecs/codecs.ts";
import { buildAttentionHalf, buildFfnHalf } from "./layers/block.ts";
import { type BlockEnd, type BlockStart, plainEnd, plainStart } from "./layers/block_ends.ts";
import { type ContextOptions, type Hold, type LayerContext, layerContext, type Piece } from "./layers/context.ts";
import { buildEmbed, type Lookup } from "./layers/embed.ts";
import { buildHead, type Head } from "./layers/head.ts";
import { buildSide, type Side, withSide } from "./codecs/side.ts";
import type { BufferRange, Dispatch } from "./stage_ops.ts";

export interface WirePort {
  readonly value: WireTransfer;
  readonly gradient: WireTransfer;
}

export interface StageProgram {
  readonly tokens: Lookup | null; // of the head, and of stages with token side embeddings
  readonly wireIn: WirePort | null; // not at the head
  readonly wireOut: WirePort | null; // not at the tail
  readonly head: Head | null; // tail only
  /** From the uploads to the wire's values or the head's input. */
  readonly trunk: readonly Dispatch[];
  readonly places: BufferRange | null; // of stages with a cache
  /** From dL/d(trunk output) to the stage's gradients and the read-back part of `wireIn.gradient`; empty with a cache. */
  readonly trunkBackward: readonly Dispatch[];
}

export function buildStageProgram(options: ContextOptions): StageProgram {
  const { spec } = options;
  const context = layerContext(options);
  const { attention, cache, buffers } = context;
  const positions = { ...attention, length: cache?.length ?? attention.length };
  buffers.upload(context.ropeTable, ropeTable(positions, spec.model));
  const embed = spec.wireIn === null ? buildEmbed(context) : null;
  const side = buildSide(context);
  const blocks = buildBlocks(context, { embed, side, recomputes: options.recomputes });
  const ahead: Piece[] = [embed, side].filter((piece) => piece !== null);
  const pieces = [...ahead, ...blocks.pieces];
  const { input, inputGradient, output, outputGradient } = stageWires(spec);
  const wireIn = portOf(context, { wire: input, gradient: inputGradient, buffers: blocks.wireIn, label: "wire in" });
  const wireOut = portOf(context, {
    wire: output,
    gradient: outputGradient,
    buffers: blocks.wireOut,
    label: "wire out",
  });
  return {
    tokens: embed ?? side,
    wireIn,
    wireOut,
    head: spec.wireOut === null ? buildHead(context, { input: blocks.output }) : null,
    trunk: [...wireIn?.value.decode ?? [], ...pieces.flatMap((piece) => piece.forward)],
    places: cache?.places ?? null,
    trunkBackward: cache !== null ? [] : [
      ...wireOut?.gradient.decode ?? [],
      ...pieces.toReversed().flatMap((piece) => piece.backward()),
      ...wireIn?.gradient.encode ?? [],
    ],
  };
}

interface PortOptions {
  readonly wire: Wire | null;
  readonly gradient: Wire | null;
  readonly buffers: WireBuffers | null;
  readonly label: string;
}

function portOf(context: LayerContext, { wire, gradient, buffers, label }: PortOptions): WirePort | null {
  if (wire === null || gradient === null || buffers === null) return null;
  const { transfers } = gpuCodecs[wire.codec];
  return {
    value: transfers.forward(context, { wire: withoutIds(wire), values: buffers.value, label }),
    gradient: transfers.gradient(context, { wire: gradient, values: buffers.gradient, label: `${label} gradient` }),
  };
}

interface Blocks {
  readonly pieces: Piece[]; // in forward order
  readonly output: BufferRange; // (rows, d), of the last block
  readonly wireIn: WireBuffers | null;
  readonly wireOut: WireBuffers | null;
}

interface BlocksOptions {
  readonly embed: Lookup | null;
  readonly side: Side | null;
  readonly recomputes: boolean;
}

function buildBlocks(context: LayerContext, { embed, side, recomputes }: BlocksOptions): Blocks {
  const { spec: { wireIn, wireOut, firstLayer, layerCount }, buffers, rows, width } = context;
  const layers = Array.from({ length: layerCount }, (_, i): BlockTensors => {
    const layer = firstLayer + i;
    const hold = context.holdOf(layer);
    const attended = hold("state after attention", rows * width);
    return { layer, hold, attended, output: buffers.storage(`layer ${layer} output`, rows * width) };
  });
  const first = present(layers[0], "a stage has a layer");
  const last = present(layers.at(-1), "a stage has a layer");
  const plainReceiver = wireIn === null
    ? null
    : gpuCodecs[wireIn.codec].buildReceiver(context, { wireWidth: wireIn.width, ...first });
  const receiver = plainReceiver === null || side === null
    ? plainReceiver
    : withSide(context, plainReceiver, { side, hold: first.hold });
  const sender = wireOut === null
    ? null
    : gpuCodecs[wireOut.codec].buildSender(context, { wireWidth: wireOut.width, ...last });
  let start: BlockStart = receiver ?? plainStart(context, present(embed, "a stage without a wire embeds").output);
  const pieces = layers.flatMap((tensors) => {
    const end = tensors === last && sender !== null ? sender : plainEnd(context, tensors.attended);
    const block = buildBlock(context, { ...tensors, start, end });
    const own = recomputes ? [computedAgain(block)] : block;
    start = plainStart(context, tensors.output);
    return own;
  });
  return { pieces, output: last.output, wireIn: receiver?.wire ?? null, wireOut: sender?.wire ?? null };
}

function computedAgain(pieces: readonly Piece[]): Piece {
  const again = pieces.flatMap((piece) => piece.again ?? piece.forward);
  return {
    forward: pieces.flatMap((piece) => piece.forward),
    backward: () => [...again, ...pieces.toReversed().flatMap((piece) => piece.backward())],
  };
}

interface BlockTensors {
  readonly layer: number;
  readonly hold: Hold;
  readonly attended: BufferRange; // (rows, d), output of the attention half
  readonly output: BufferRange; // (rows, d), output of the FFN half
}

function buildBlock(
  context: LayerContext,
  { layer, hold, attended, output, start, end }: BlockTensors & { start: BlockStart; end: BlockEnd },
): Piece[] {
  const attentionHalf = buildAttentionHalf(context, {
    layer,
    hold,
    input: start.input,
    residual: start.residual,
    output: attended,
    outputGradient: context.residualGradient,
    inputGradient: start.inputGradient,
    accumulate: start.accumulate,
  });
  const ffnHalf = buildFfnHalf(context, {
    layer,
    hold,
    input: attended,
    residual: end.residual,
    output,
    outputGradient: end.outputGradient,
    inputGradient: context.residualGradient,
    accumulate: true,
  });
  return [start.before, attentionHalf, start.after, ffnHalf, end.after];
}
