/**
 * What a stage's layers ask of the device.
 *
 * Activations and their gradients overwrite; gradients of parameters accumulate (`+=`). Tensors are f32, row-major, one
 * row per token unless said otherwise; widths are multiples of 4. Ranges and dispatches belong to their device.
 */

import type { WireShape } from "../core/codec/codec.ts";
import type { CodesSpec } from "../core/codec/scaled_codes.ts";
import type { AttentionSizes } from "./attention_sizes.ts";

/** In bytes. */
export interface BufferRange {
  readonly buffer: object;
  readonly offset: number;
  readonly size: number;
}

export function partOf(range: BufferRange, { offset, size }: { offset: number; size: number }): BufferRange {
  return { buffer: range.buffer, offset: range.offset + offset * 4, size: size * 4 };
}

export interface Dispatch {
  readonly label: string;
}

export interface DeviceBuffers {
  readonly largestBytes: number;
  /** Zero-filled, `count` 4-byte values. */
  storage(label: string, count: number): BufferRange;
  /** The same label is the same memory. */
  scratch(label: string, count: number): BufferRange;
  /** Without scratch. */
  readonly storageBytes: number;
  upload(range: BufferRange, data: Float32Array | Uint32Array | Uint8Array): void;
}

/** y (rows, outWidth) = x (rows, inWidth) Wᵀ; W (outWidth, inWidth). */
export interface LinearSizes {
  readonly rows: number;
  readonly inWidth: number;
  readonly outWidth: number;
  /** Floats between rows of y and of its gradient. @default outWidth */
  readonly outStride?: number;
}

export interface RowSizes {
  readonly rows: number;
  readonly width: number;
}

/** A scale per row and codes of few bits (core/codec/scaled_codes.ts). */
export interface CodesOperands {
  readonly codes: CodesSpec;
  readonly shape: WireShape;
  readonly values: BufferRange; // (rows, width)
  readonly bytes: BufferRange;
}

export interface CodesEncodeOperands extends CodesOperands {
  readonly key: BufferRange; // one word, of stochastic rounding
}

export interface EmbedSizes extends RowSizes {
  readonly firstId: number;
  readonly ids: number;
}

export interface AttentionTensors {
  readonly qkv: BufferRange; // (B * T, (heads + 2 kvHeads) * headWidth)
  readonly output: BufferRange; // (B * T, heads * headWidth)
  readonly logSumExp: BufferRange; // (B, heads, T)
}

export interface AttentionGradientTensors extends AttentionTensors {
  readonly outputGradient: BufferRange;
  readonly delta: BufferRange; // (B, heads, T), scratch
  readonly qkvGradient: BufferRange;
}

/** Rows that each continue a text. */
export interface CacheSizes {
  readonly rows: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headWidth: number;
  readonly streams: number; // texts at once
  readonly length: number; // positions of a text
}

export interface CacheTensors {
  readonly places: BufferRange; // u32 (rows, 2): stream, position; a row of no stream (one beyond the last) is empty
  readonly qkv: BufferRange; // (rows, (heads + 2 kvHeads) * headWidth)
  readonly keys: BufferRange; // (streams, kvHeads, length, headWidth)
  readonly values: BufferRange; // (streams, kvHeads, length, headWidth)
}

export interface NormGradientTensors {
  readonly input: BufferRange;
  readonly gain: BufferRange;
  readonly inverseRms: BufferRange;
  readonly outputGradient: BufferRange;
  readonly inputGradient: BufferRange;
  readonly gainGradient: BufferRange;
  readonly partial: BufferRange; // (ceil(rows / gainChunkRows), width), scratch
}

export const gainChunkRows = 64;

export interface StageOps {
  linear(
    sizes: LinearSizes,
    tensors: { input: BufferRange; weight: BufferRange; output: BufferRange; residual?: BufferRange | undefined },
  ): Dispatch;
  linearInputGradient(
    sizes: LinearSizes & { accumulate?: boolean }, // adds to the existing value
    tensors: { outputGradient: BufferRange; weight: BufferRange; inputGradient: BufferRange },
  ): Dispatch;
  linearWeightGradient(
    sizes: LinearSizes,
    tensors: { outputGradient: BufferRange; input: BufferRange; weightGradient: BufferRange },
  ): Dispatch;
  rmsNorm(
    sizes: RowSizes & { epsilon: number },
    tensors: { input: BufferRange; gain: BufferRange; output: BufferRange; inverseRms: BufferRange },
  ): Dispatch;
  /** Gradients of the input (added or overwritten) and of the gain. */
  rmsNormBackward(sizes: RowSizes & { accumulate: boolean }, tensors: NormGradientTensors): Dispatch[];
  /** gateUp (rows, 2 width) to activated (rows, width). */
  swiglu(sizes: RowSizes, tensors: { gateUp: BufferRange; activated: BufferRange }): Dispatch;
  swigluBackward(
    sizes: RowSizes,
    tensors: { gateUp: BufferRange; activatedGradient: BufferRange; gateUpGradient: BufferRange },
  ): Dispatch;
  boundaryActivation(
    sizes: RowSizes & { type: "silu" | "relu" },
    tensors: { input: BufferRange; output: BufferRange },
  ): Dispatch;
  /** In place on `gradient`. */
  boundaryActivationBackward(
    sizes: RowSizes & { type: "silu" | "relu" },
    tensors: { input: BufferRange; gradient: BufferRange },
  ): Dispatch;
  /** The first `columns` columns of target += source's; with `pad`, target = source, then zeros. */
  prefix(
    sizes: { rows: number; columns: number; sourceWidth: number; targetWidth: number; pad: boolean },
    tensors: { source: BufferRange; target: BufferRange },
  ): Dispatch;
  /** Ids from `firstId`, as many as `embedding` has; rows of other tokens stay. */
  embed(
    sizes: EmbedSizes,
    tensors: { tokens: BufferRange; embedding: BufferRange; output: BufferRange },
  ): Dispatch;
  /** `index`: see token_index.ts. */
  embedBackward(
    sizes: EmbedSizes,
    tensors: { index: BufferRange; outputGradient: BufferRange; embeddingGradient: BufferRange },
  ): Dispatch;
  /** Losses per row; with `writeGradient`, the logits become the gradient of the mean over `meanOver` rows. */
  crossEntropy(
    sizes: { rows: number; vocabulary: number; meanOver: number; writeGradient: boolean },
    tensors: { targets: BufferRange; logits: BufferRange; losses: BufferRange },
  ): Dispatch;
  /** Direction 1 rotates q and k, -1 rotates their gradients back. */
  rotate(
    sizes: AttentionSizes & { direction: 1 | -1 },
    tensors: { table: BufferRange; qkv: BufferRange },
  ): Dispatch;
  attention(sizes: AttentionSizes, tensors: AttentionTensors): Dispatch;
  attentionBackward(sizes: AttentionSizes, tensors: AttentionGradientTensors): Dispatch[];
  /** Rotates q in place to each row's position, and puts its rotated k and its v into the cache. */
  cacheTokens(sizes: CacheSizes, tensors: CacheTensors & { readonly table: BufferRange }): Dispatch;
  /** Each row over its stream's positions up to its own; `output` (rows, heads * headWidth), zero in empty rows. */
  attendCache(sizes: CacheSizes, tensors: CacheTensors & { readonly output: BufferRange }): Dispatch;
  /** f32 and bfloat16, two values in a word. `count` is a multiple of 4. */
  bfloat16Encode(count: number, tensors: { values: BufferRange; bytes: BufferRange }): Dispatch;
  bfloat16Decode(count: number, tensors: { values: BufferRange; bytes: BufferRange }): Dispatch;
  codesEncode(operands: CodesEncodeOperands): Dispatch[];
  codesDecode(operands: CodesOperands): Dispatch[];
}
