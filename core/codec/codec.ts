/**
 * What a wire codec is: one record that owns everything in core that depends on it. codecs.ts is the table of all of
 * them.
 *
 * A codec has two parts. Its formats turn values into bytes and back, one for the wire and one for the gradient on it;
 * its ends define the parameters that the sending and the receiving stage hold for it, and their cost. The computation
 * of the ends is in the record of the same name in gpu/codecs and in tests/lab/reference/codecs.
 *
 * A name is a version: it travels in the run's configuration, and a node that does not know it refuses the run. So
 * neither the bytes nor the arithmetic of a published name ever change; a better codec gets a new name. Frozen vectors
 * keep the bytes (tests/vectors/wires.json).
 */

import type { TensorDraft } from "../tensor.ts";
import type { GradientBits } from "./codec_names.ts";

/** One microbatch on a boundary as its stages see it: (rows, width) values, row-major. */
export interface WireShape {
  readonly rows: number; // B * T tokens
  readonly width: number; // values per token
}

/** Statistics of a wire's values, without copying them. */
export interface WireSums {
  readonly largest: number; // absolute value
  readonly squareSum: number; // over all rows * width values; non-finite whenever `isFinite` is false
}

/** How far the wires of two honest devices, whose results differ in the last bits, may differ. */
export interface WireRounding {
  /** A decoded value moves by at most `ofValue` times itself plus `ofRow` times its row's largest. */
  readonly ofValue: number;
  readonly ofRow: number;
  /**
   * The share of values that move so far, by their squares: if steps are far wider than the last bits, few values are
   * near an edge.
   */
  readonly valuesHit: number;
}

/**
 * How values become bytes. Bytes may start at any offset of their buffer, since they are segments of network frames. Callers
 * (wire.ts) have checked that there are `byteLength(shape)` of them, and rows * width values; the bytes' content is untrusted.
 */
export interface WireFormat {
  /** Length of a whole wire, so that tokens may share bytes: a codebook, or codes of less than a byte. */
  byteLength(shape: WireShape): number;
  /** `values` (rows, width). `key`: for random rounding (rounding_key.ts); other formats ignore it. */
  encode(values: Float32Array, shape: WireShape, key: number): Uint8Array<ArrayBuffer>;
  decode(bytes: Uint8Array, shape: WireShape): Float32Array<ArrayBuffer>; // (rows, width)
  /** True if all decoded values are finite: no NaN, no infinity, no undefined code. */
  isFinite(bytes: Uint8Array, shape: WireShape): boolean;
  readonly rounding: WireRounding;
  /**
   * Statistics of the decoded values; called on the orchestrator's event loop for every result, so one pass that
   * allocates nothing.
   */
  sums(bytes: Uint8Array, shape: WireShape): WireSums;
}

/** The numbers of a run that may determine a codec's width. */
interface CodecSettings {
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
  /** Held by this side's stage. The sender's tensors follow its layers' tensors, the receiver's precede them. */
  tensors(boundary: Boundary): TensorDraft[];
  /** FLOPs per token of one forward, a multiply-add counted as two. */
  flops(widths: Pick<Boundary, "modelWidth" | "wireWidth">): number;
}

/** What crosses a boundary: the wire, or dL/d(wire) on its way back. */
export type WireDirection = "forward" | "gradient";

export interface WireCodec {
  /** The receiver continues with the sender's stream to the bit: a model cut here is the model. */
  readonly keepsStream: boolean;
  /** After "codec NAME", with a leading space; "" if the name is enough. */
  describe(wireWidth: number): string;
  /** Values per token. */
  wireWidth(settings: CodecSettings): number;
  readonly formats: Readonly<Record<WireDirection, WireFormat>>;
  /** For runs that choose the bits of gradients; the default is `formats.gradient`. */
  readonly gradientFormats?: Readonly<Record<GradientBits, WireFormat>>;
  readonly sender: WireEnd;
  readonly receiver: WireEnd;
}
