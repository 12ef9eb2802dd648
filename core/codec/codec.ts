/**
 * What a wire codec is: one record that owns everything in core that depends on it. codecs.ts is the table of all of them.
 *
 * A codec has two sides. Its formats turn values into bytes and back, one for the wire and one for the gradient on it; its
 * ends say which parameters the sending and the receiving stage hold for it, and what they cost. What the ends compute is
 * the same name's record in gpu/codecs and in gpu/reference/codecs.
 *
 * A name is a version: it travels in the run's configuration, and a node that does not know it refuses the run. So neither
 * the bytes nor the arithmetic of a published name ever change; a better codec gets a new name. Frozen vectors keep the
 * bytes (tests/vectors/wires.json).
 */

import type { TensorDraft } from "../tensor.ts";

/** One microbatch on a boundary as its stages see it: (rows, width) values, row-major. */
export interface WireShape {
  readonly rows: number; // B * T tokens
  readonly width: number; // values per token
}

/** What is known of the values of a wire without a copy of them. */
export interface WireSums {
  readonly largest: number; // absolute value
  readonly squareSum: number; // over all rows * width values; not finite when any of them is not
}

/**
 * How values become bytes. Bytes may start at any offset of their buffer, since they are segments of network frames. Callers
 * (wire.ts) have checked that there are `byteLength(shape)` of them, and rows * width values; what the bytes say is foreign.
 */
export interface WireFormat {
  /** Of a whole wire, so that tokens may share bytes: a codebook, or codes of less than a byte. */
  byteLength(shape: WireShape): number;
  encode(values: Float32Array, shape: WireShape): Uint8Array<ArrayBuffer>; // values (rows, width)
  decode(bytes: Uint8Array, shape: WireShape): Float32Array<ArrayBuffer>; // (rows, width)
  /** True when decoding gives only numbers: no NaN, no infinity, no code that means nothing. */
  isFinite(bytes: Uint8Array, shape: WireShape): boolean;
  /** Of the decoded values; called for every result on the hub, so it should allocate nothing. */
  sums(bytes: Uint8Array, shape: WireShape): WireSums;
}

/** The numbers of a run that a codec's width may follow from. */
export interface CodecSettings {
  readonly model: { readonly width: number };
  readonly pipeline: { readonly bottleneckWidth: number };
}

/** A boundary between two stages, for the parameters at its ends. */
export interface Boundary {
  readonly index: number; // of the receiving stage, 1 to K - 1
  readonly layers: number; // L, of the whole model
  readonly modelWidth: number; // d
  readonly wireWidth: number; // values per token
}

/** The sending or the receiving side of a boundary. */
export interface WireEnd {
  /** Held by this side's stage. The sender's stand behind its layers' tensors, the receiver's before. */
  tensors(boundary: Boundary): TensorDraft[];
  /** FLOPs per token of one forward, a multiply-add counted as two. */
  flops(widths: Pick<Boundary, "modelWidth" | "wireWidth">): number;
}

/** What crosses a boundary: the wire, or dL/d(wire) on its way back. */
export type WireDirection = "forward" | "gradient";

export interface WireCodec {
  readonly doc: string; // what a wire is, to stand in a list
  /** After "codec NAME", with a leading space; "" when the name says it all. */
  describe(wireWidth: number): string;
  /** Values per token. */
  wireWidth(settings: CodecSettings): number;
  readonly formats: Readonly<Record<WireDirection, WireFormat>>;
  readonly sender: WireEnd;
  readonly receiver: WireEnd;
}
