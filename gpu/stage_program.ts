/**
 * A stage as one list of dispatches per direction: way in (embedding, wire or bottleneck), blocks, way out (head, wire or
 * bottleneck). Everything a task will touch is allocated here, once. Another program on the same buffers has activations of its
 * own and shares the rest.
 */

import type { StageSpec } from "../core/model/spec.ts";
import { ropeTable } from "./attention_ops.ts";
import type { BufferRange } from "./buffers.ts";
import type { Dispatch } from "./kernel.ts";
import { buildAttentionHalf, buildFfnHalf } from "./layers/block.ts";
import { buildReceiver, buildSender } from "./layers/boundary.ts";
import { type ContextOptions, type LayerContext, layerContext, type Piece } from "./layers/context.ts";
import { buildEmbed, type Embed } from "./layers/embed.ts";
import { buildHead, type Head } from "./layers/head.ts";

/** A wire at a boundary and dL/d(wire), both f32 (rows, wire width). */
export interface WirePort {
  readonly value: BufferRange;
  readonly gradient: BufferRange;
}

export interface StageProgram {
  readonly embed: Embed | null; // head only
  readonly wireIn: WirePort | null; // not at the head
  readonly wireOut: WirePort | null; // not at the tail
  readonly head: Head | null; // tail only
  /** Way in and blocks, up to `wireOut` or the head's input. */
  readonly trunk: readonly Dispatch[];
  /** From dL/d(trunk output) to the stage's gradients and `wireIn.gradient`. */
  readonly trunkBackward: readonly Dispatch[];
}

export function buildStageProgram(options: ContextOptions): StageProgram {
  const { spec, buffers } = options;
  const context = layerContext(options);
  buffers.upload(context.ropeTable, ropeTable(context.attention, spec.model.ropeBase));
  const embed = spec.wireIn === null ? buildEmbed(context) : null;
  const wireIn = wireInPort(context);
  const wireOut = bottleneckOut(context);
  const pieces: Piece[] = embed === null ? [] : [embed];
  let input = embed?.output ?? wireIn!.value;
  for (let i = 0; i < spec.layerCount; i++) {
    const block = buildBlock(context, {
      layer: spec.firstLayer + i,
      input,
      receiver: i === 0 ? bottleneckPort(wireIn, spec.wireIn) : null,
      sender: i === spec.layerCount - 1 ? bottleneckPort(wireOut, spec.wireOut) : null,
    });
    pieces.push(...block.pieces);
    input = block.output;
  }
  return {
    embed,
    wireIn,
    wireOut: spec.wireOut?.codec === "none" ? { value: input, gradient: context.residualGradient } : wireOut,
    head: spec.wireOut === null ? buildHead(context, { input }) : null,
    trunk: pieces.flatMap((piece) => piece.forward),
    trunkBackward: pieces.toReversed().flatMap((piece) => piece.backward),
  };
}

/** Codec `none` needs no gradient buffer of its own: the residual gradient is the wire's. */
function wireInPort({ spec, buffers, rows, residualGradient }: LayerContext): WirePort | null {
  if (spec.wireIn === null) return null;
  const count = rows * spec.wireIn.width;
  const value = buffers.storage("wire in", count);
  const gradient = spec.wireIn.codec === "none" ? residualGradient : buffers.scratch("wire in gradient", count);
  return { value, gradient };
}

function bottleneckOut({ spec, buffers, rows }: LayerContext): WirePort | null {
  if (spec.wireOut?.codec !== "iota") return null;
  const count = rows * spec.wireOut.width;
  return { value: buffers.scratch("wire out", count), gradient: buffers.scratch("wire out gradient", count) };
}

interface BottleneckPort extends WirePort {
  readonly width: number; // r
}

function bottleneckPort(port: WirePort | null, wire: StageSpec["wireIn"]): BottleneckPort | null {
  return port !== null && wire?.codec === "iota" ? { ...port, width: wire.width } : null;
}

interface BlockOptions {
  readonly layer: number;
  readonly input: BufferRange; // (rows, d); unused by a receiver
  readonly receiver: BottleneckPort | null;
  readonly sender: BottleneckPort | null;
}

/** The pieces in forward order. A block may receive, send, both or neither. */
function buildBlock(context: LayerContext, options: BlockOptions): { pieces: Piece[]; output: BufferRange } {
  const { buffers, rows, width, residualGradient } = context;
  const { layer, input, receiver: receiverPort, sender: senderPort } = options;
  const attended = buffers.storage(`layer ${layer} after attention`, rows * width);
  const output = buffers.storage(`layer ${layer} output`, rows * width);
  const receiver = receiverPort === null ? null : buildReceiver(context, {
    wire: receiverPort.value,
    wireGradient: receiverPort.gradient,
    wireWidth: receiverPort.width,
    attentionOutput: attended,
  });
  const attentionHalf = buildAttentionHalf(context, {
    layer,
    input: receiver?.expanded ?? input,
    residual: receiver === null ? input : undefined,
    output: attended,
    outputGradient: residualGradient,
    inputGradient: receiver?.expandedGradient ?? residualGradient,
    accumulate: receiver === null,
  });
  const outputGradient = senderPort === null
    ? residualGradient
    : buffers.scratch("encoder output gradient", rows * width);
  const ffnHalf = buildFfnHalf(context, {
    layer,
    input: attended,
    residual: senderPort === null ? attended : undefined,
    output,
    outputGradient,
    inputGradient: residualGradient,
    accumulate: true,
  });
  const sender = senderPort === null ? null : buildSender(context, {
    ffnOutput: output,
    ffnOutputGradient: outputGradient,
    ffnInput: attended,
    wire: senderPort.value,
    wireGradient: senderPort.gradient,
    wireWidth: senderPort.width,
  });
  const pieces = [receiver?.expand, attentionHalf, receiver?.reinsert, ffnHalf, sender];
  return { pieces: pieces.filter((piece) => piece !== null && piece !== undefined), output };
}
