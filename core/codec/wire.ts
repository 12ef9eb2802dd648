/**
 * A wire, or the gradient on one, as values and as bytes: the only conversion for code outside the codecs.
 *
 * Owns the checks around a codec's formats: our own values and bytes have the right length (asserted), a peer's bytes are
 * checked (`wireFault`). Byte strings may start at any offset of their buffer, since they are segments of network frames.
 */

import { assert } from "../assert.ts";
import { type Fault, fault } from "../fault.ts";
import type { WireDirection, WireFormat, WireRounding, WireShape } from "./codec.ts";
import type { Codec, GradientBits } from "./codec_names.ts";
import { codecs } from "./codecs.ts";

/** What all wires of a run have in common. Plain data: it is sent to workers and stored in snapshots. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token, set by the codec
  readonly gradientBits?: GradientBits; // where the run chose others than the codec's own
}

/** The tensor that crosses a boundary, in one direction: (rows, width). */
export interface Wire extends WireSpec, WireShape {
  readonly direction: WireDirection;
}

function formatOf({ codec, direction, gradientBits }: Wire): WireFormat {
  const { formats, gradientFormats } = codecs[codec];
  const chosen = direction === "gradient" && gradientBits !== undefined ? gradientFormats?.[gradientBits] : undefined;
  return chosen ?? formats[direction];
}

export function wireBytes(wire: Wire): number {
  return formatOf(wire).byteLength(wire);
}

/** `values` (rows, width). */
export function encodeWire(wire: Wire, values: Float32Array): Uint8Array<ArrayBuffer> {
  const count = wire.rows * wire.width;
  assert(
    values.length === count,
    `Cannot encode a wire as there must be ${count} values: current value is ${values.length}`,
  );
  return formatOf(wire).encode(values, wire);
}

/** (rows, width) */
export function decodeWire(wire: Wire, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const expected = wireBytes(wire);
  assert(
    bytes.length === expected,
    `Cannot decode a wire as it must have ${expected} bytes: current value is ${bytes.length}`,
  );
  return formatOf(wire).decode(bytes, wire);
}

/** The fault of a wire that a peer sent (its length, or a non-finite value), or null. */
export function wireFault(wire: Wire, bytes: Uint8Array): Fault | null {
  const expected = wireBytes(wire);
  if (bytes.length !== expected) {
    return fault(
      "badNumbers",
      `Cannot accept wire as its length must be ${expected} bytes: current value is ${bytes.length}`,
    );
  }
  if (!formatOf(wire).isFinite(bytes, wire)) {
    return fault("badNumbers", "Cannot accept wire as every value must be finite: it holds NaN or infinity");
  }
  return null;
}

export function wireRounding(wire: Wire): WireRounding {
  return formatOf(wire).rounding;
}

/** How large a wire's values are; both are Infinity if any value is NaN or infinite. */
export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number; // root mean square
}

/**
 * Two measures, since either alone can be fooled: the largest says nothing about the rest, and the root mean square hides one
 * huge value among many. Zeros for bytes of a wrong length, which have no values: their sender is refused for that
 * (orchestrator/step/result_check.ts, which also defines the plausible scales).
 */
export function wireScale(wire: Wire, bytes: Uint8Array): WireScale {
  if (bytes.length !== wireBytes(wire)) return noScale;
  const { largest, squareSum } = formatOf(wire).sums(bytes, wire);
  if (!Number.isFinite(squareSum)) return { largest: Infinity, rms: Infinity };
  return { largest, rms: Math.sqrt(squareSum / (wire.rows * wire.width)) };
}

/** The scale of a message without a wire. */
export const noScale: WireScale = { largest: 0, rms: 0 };
