/**
 * A wire codec on a device: the pieces its two ends put around the blocks, and how its wires get on and off the
 * device. Bytes, parameters and costs are in core/codec.
 */

import type { WireDirection } from "../../core/codec/codec.ts";
import type { Wire } from "../../core/codec/wire.ts";
import type { BlockEnd, BlockStart } from "../layers/block_ends.ts";
import type { Hold, LayerContext } from "../layers/context.ts";
import type { BufferRange, Dispatch } from "../stage_ops.ts";

/** A wire and dL/d(wire) as the layers compute with them: f32 (rows, wire width). */
export interface WireBuffers {
  readonly value: BufferRange;
  readonly gradient: BufferRange;
}

export interface ReceiverOptions {
  readonly wireWidth: number; // values per token
  readonly hold: Hold; // of the first block
  readonly attended: BufferRange; // (rows, d), the output of the first block's attention half
}

export interface SenderOptions {
  readonly wireWidth: number; // values per token
  readonly hold: Hold; // of the last block
  readonly attended: BufferRange; // (rows, d), the input of the last block's FFN half
  readonly output: BufferRange; // (rows, d), the output of that half
}

/** The start of a stage's first block. Its backward ends with `wire.gradient` complete. */
export interface Receiver extends BlockStart {
  readonly wire: WireBuffers;
}

/** The end of a stage's last block. Its backward begins with `wire.gradient`. */
export interface Sender extends BlockEnd {
  readonly wire: WireBuffers;
}

/**
 * One wire between its values and its bytes on the host. A codec with kernels of its own keeps the encoded bytes in
 * `staged`, so that only they cross; one without stages the values, and the host encodes them.
 */
export interface WireTransfer {
  readonly wire: Wire;
  readonly staged: BufferRange; // what is uploaded into, or read back
  readonly key: BufferRange | null; // one word, of random rounding (core/codec/rounding_key.ts)
  readonly decode: readonly Dispatch[];
  readonly encode: readonly Dispatch[];
  /** Bytes may start at any offset of their buffer. */
  toStaged(bytes: Uint8Array): Uint8Array | Float32Array;
  /** May keep the buffer of `content`. */
  fromStaged(content: ArrayBuffer): Uint8Array;
}

export type BuildTransfer = (
  context: Pick<LayerContext, "ops" | "buffers">,
  options: { readonly wire: Wire; readonly values: BufferRange; readonly label: string }, // values (rows, width)
) => WireTransfer;

export interface GpuCodec {
  buildReceiver(context: LayerContext, options: ReceiverOptions): Receiver;
  buildSender(context: LayerContext, options: SenderOptions): Sender;
  readonly transfers: Readonly<Record<WireDirection, BuildTransfer>>;
}
