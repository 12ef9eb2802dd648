/**
 * What a wire codec is: formats turn values into bytes, ends define both stages' parameters and their cost; gpu/codecs
 * and tests/lab/reference/codecs compute them.
 *
 * A published name never changes its bytes or arithmetic: a better codec gets a new name. Frozen vectors:
 * tests/vectors/wires.json.
 */

import type { TensorDraft } from "../tensor.ts";
import type { GradientBits } from "./codec_names.ts";

/** One microbatch on a boundary: (rows, width) values, row-major. */
export interface WireShape {
  readonly rows: number; // B * T tokens
  readonly width: number;
}

/** values per token */
export interface WireSums {
  readonly largest: number; // absolute value
  readonly squareSum: number; // of all values; non-finite whenever `isFinite` is false
}

/** How far the wires of two honest devices may differ. */
export interface WireRounding {
  /** A decoded value moves by at most `ofValue` times itself plus `ofRow` times its row's largest. */
  readonly ofValue: number;
  readonly ofRow: number;
  /** The share of values that move so far, by their squares. */
  readonly valuesHit: number;
}

/**
 * How values become bytes. wire.ts has checked the numbers of bytes and values; the bytes' content is untrusted, and
 * they may start at any offset of their buffer.
 */
export interface WireFormat {
  /** The length of a whole wire, so that tokens may share bytes. */
  byteLength(shape: WireShape): number;
  /** `values` (rows, width). `key`: for random rounding (rounding_key.ts). */
  encode(values: Float32Array, shape: WireShape, key: number): Uint8Array<ArrayBuffer>;
  decode(bytes: Uint8Array, shape: WireShape): Float32Array<ArrayBuffer>; // (rows, width)
  /** False if a decoded value is NaN or infinite, or a code is undefined. */
  isFinite(bytes: Uint8Array, shape: WireShape): boolean;
  readonly rounding: WireRounding;
  /** Runs on the orchestrator's event loop for every result, so it makes one pass and allocates nothing. */
  sums(bytes: Uint8Array, shape: WireShape): WireSums;
}

interface CodecSettings {
  readonly model: { readonly width: number };
  readonly pipeline: { readonly bottleneckWidth: number };
}

export interface Boundary {
  readonly index: number; // of the receiving stage, 1 to K - 1
  readonly layers: number; // L, of the whole model
  readonly modelWidth: number; // d
  readonly wireWidth: number; // values per token
}

export interface WireEnd {
  /** The sender's tensors follow its layers' tensors, the receiver's precede them. */
  tensors(boundary: Boundary): TensorDraft[];
  /** Per token and forward, a multiply-add counted as two. */
  flops(widths: Pick<Boundary, "modelWidth" | "wireWidth">): number;
}

export type WireDirection = "forward" | "gradient";

export interface WireCodec {
  /** Follows "codec NAME", with a leading space; "" if the name is enough. */
  describe(wireWidth: number): string;
  /** Values per token. */
  wireWidth(settings: CodecSettings): number;
  readonly formats: Readonly<Record<WireDirection, WireFormat>>;
  /** For runs that choose the bits of gradients. */
  readonly gradientFormats?: Readonly<Record<GradientBits, WireFormat>>;
  readonly sender: WireEnd;
  readonly receiver: WireEnd;
}
