/**
 * A wire codec on a device: its ends around the blocks, and its wires' transfer. Bytes, parameters and costs are in
 * core/codec.
 */

import type { WireDirection } from "../../core/codec/codec.ts";
import type { Wire } from "../../core/codec/wire.ts";
import type { BlockEnd, BlockStart } from "../layers/block_ends.ts";
import type { Hold, LayerContext } from "../layers/context.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";

/** f32 (rows, wire width). */
export interface WireBuffers {
  readonly value: BufferRange;
  readonly gradient: BufferRange;
}

export interface ReceiverOptions {
  readonly wireWidth: number; // per token
  readonly hold: Hold;
  readonly attended: BufferRange; // (rows, d), output of the first block's attention half
}

export interface SenderOptions {
  readonly wireWidth: number; // per token
  readonly hold: Hold;
  readonly attended: BufferRange; // (rows, d), input of the last block's FFN half
  readonly output: BufferRange; // (rows, d), its output
}

/** Its backward ends with `wire.gradient` complete. */
export interface Receiver extends BlockStart {
  readonly wire: WireBuffers;
}

/** Its backward begins with `wire.gradient`. */
export interface Sender extends BlockEnd {
  readonly wire: WireBuffers;
}

/**
 * A codec with its own kernels keeps encoded bytes in `staged`, so that only they cross; others stage the values, and
 * the host encodes them.
 */
export interface WireTransfer {
  readonly wire: Wire;
  readonly staged: BufferRange; // for upload or read-back
  readonly key: BufferRange | null; // one word of random rounding (core/codec/rounding_key.ts)
  readonly decode: readonly Dispatch[];
  readonly encode: readonly Dispatch[];
  /** `bytes` may start at any offset of their buffer. */
  toStaged(bytes: Uint8Array): Uint8Array | Float32Array;
  /** May keep the buffer of `content`. */
  fromStaged(content: ArrayBuffer): Uint8Array;
}

export type BuildTransfer = (
  context: Pick<LayerContext, "ops" | "buffers">,
  options: { readonly wire: Wire; readonly values: BufferRange; readonly label: string }, // (rows, width)
) => WireTransfer;

export interface GpuCodec {
  buildReceiver(context: LayerContext, options: ReceiverOptions): Receiver;
  buildSender(context: LayerContext, options: SenderOptions): Sender;
  readonly transfers: Readonly<Record<WireDirection, BuildTransfer>>;
}
