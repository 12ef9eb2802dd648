/**
 * A wire or the gradient on one, as values and as bytes: the one way to either for everybody who is not a codec.
 *
 * Owns the checks around a codec's formats: our own values and bytes have the right length (asserted), a peer's bytes are
 * judged (`wireFault`). Byte strings may start at any offset of their buffer, since they are segments of network frames.
 */

import { assert } from "../assert.ts";
import { type Fault, fault } from "../fault.ts";
import type { WireDirection, WireFormat, WireShape } from "./codec.ts";
import { type Codec, codecs } from "./codecs.ts";

/** What all wires of a run have in common. Plain data: it travels to workers and rests in snapshots. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token, as the codec says
}

/** The tensor that crosses a boundary, in one direction: (rows, width). */
export interface Wire extends WireSpec, WireShape {
  readonly direction: WireDirection;
}

function formatOf({ codec, direction }: Wire): WireFormat {
  return codecs[codec].formats[direction];
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

/** What is wrong with a wire a peer sent, or null: its length, or a value that is not finite. */
export function wireFault(wire: Wire, bytes: Uint8Array): Fault | null {
  const expected = wireBytes(wire);
  if (bytes.length !== expected) {
    return fault(
      "badNumbers",
      `Cannot take wire as its length must be ${expected} bytes: current value is ${bytes.length}`,
    );
  }
  if (!formatOf(wire).isFinite(bytes, wire)) {
    return fault("badNumbers", "Cannot take wire as every value must be finite: it holds NaN or infinity");
  }
  return null;
}

/** How large the values of a wire are; both are Infinity when one of them is NaN or infinite. */
export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number; // root mean square
}

/**
 * Two measures, since either alone can be had by a single value: the largest says nothing of the rest, the root mean square
 * hides one huge value among many. Zeros for bytes of a wrong length, which have no values: their sender is refused for that
 * (orchestrator/step/result_check.ts, which also says which scales are plausible).
 */
export function wireScale(wire: Wire, bytes: Uint8Array): WireScale {
  if (bytes.length !== wireBytes(wire)) return noScale;
  const { largest, squareSum } = formatOf(wire).sums(bytes, wire);
  if (!Number.isFinite(squareSum)) return { largest: Infinity, rms: Infinity };
  return { largest, rms: Math.sqrt(squareSum / (wire.rows * wire.width)) };
}

/** Of a message that brings no wire. */
export const noScale: WireScale = { largest: 0, rms: 0 };
