/**
 * A wire, or the gradient on one, as values and as bytes: the only conversion for code outside the codecs.
 *
 * Owns the checks around a codec's formats: our own values and bytes have the right length (asserted), a peer's bytes
 * are checked (`wireFault`). Byte strings may start at any offset of their buffer, since they are segments of network
 * frames.
 */

import { assert } from "../assert.ts";
import { type Fault, fault } from "../fault.ts";
import type { WireDirection, WireFormat, WireRounding, WireShape } from "./codec.ts";
import type { Codec, GradientBits } from "./codec_names.ts";
import { codecs } from "./codecs.ts";
import { noKey, roundingKey } from "./rounding_key.ts";
import { areIds, idBytes, readIds, type WireIds, writeIds } from "./wire_ids.ts";

/** What all wires of a run have in common. Plain data: it is sent to workers and stored in snapshots. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token, set by the codec
  readonly gradientBits?: GradientBits; // if the run chose other than the codec's own
  readonly vocabSize?: number; // if the ids of its tokens cross with the values
  readonly sideWidth?: number; // width of the receiver's side embedding, whose ids then cross
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

/** Gradients have none. */
function idsOf({ vocabSize, rows, direction }: Wire): WireIds | null {
  return vocabSize === undefined || direction === "gradient" ? null : { vocabSize, rows };
}

export function wireBytes(wire: Wire): number {
  const ids = idsOf(wire);
  return formatOf(wire).byteLength(wire) + (ids === null ? 0 : idBytes(ids));
}

/** The same wire without its tokens' ids, whose bytes come after the values'. */
export function withoutIds({ vocabSize: _, ...wire }: Wire): Wire {
  return wire;
}

/** The bytes of the values, which come first. */
export function valuesOfWire(wire: Wire, bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, formatOf(wire).byteLength(wire));
}

/** Null: no ids cross. */
export function wireIds(wire: Wire, bytes: Uint8Array): Uint32Array<ArrayBuffer> | null {
  const ids = idsOf(wire);
  return ids === null ? null : readIds(idsPart(bytes, ids), ids);
}

const idsPart = (bytes: Uint8Array, ids: WireIds): Uint8Array => bytes.subarray(bytes.length - idBytes(ids));

/** `values`: of the wire without ids. `ids`: of the stage's input; ignored unless they cross. */
export function withIds(wire: Wire, values: Uint8Array, ids: Uint32Array | null): Uint8Array {
  const form = idsOf(wire);
  if (form === null) return values;
  assert(
    ids?.length === wire.rows,
    `A wire of ${wire.rows} rows needs as many ids, and got ${ids?.length}`,
  );
  const bytes = new Uint8Array(values.length + idBytes(form));
  bytes.set(values);
  writeIds(bytes.subarray(values.length), ids, form);
  return bytes;
}

/** `values` (rows, width); `ids` as for `withIds`. */
export function encodeWire(wire: Wire, values: Float32Array, ids: Uint32Array | null = null): Uint8Array {
  return withIds(wire, encodeValues(wire, values, noKey), ids);
}

/** As a stage sends it: `values` (rows, width) is the gradient of the wire whose bytes were the stage's `input`. */
export const encodeGradient = (wire: Wire, values: Float32Array, input: Uint8Array): Uint8Array =>
  encodeValues(wire, values, roundingKey(input));

function encodeValues(wire: Wire, values: Float32Array, key: number): Uint8Array {
  const count = wire.rows * wire.width;
  assert(
    values.length === count,
    `A wire of ${count} values got ${values.length}`,
  );
  return formatOf(wire).encode(values, wire, key);
}

/** (rows, width) */
export function decodeWire(wire: Wire, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const expected = wireBytes(wire);
  assert(
    bytes.length === expected,
    `A wire of ${expected} bytes got ${bytes.length}`,
  );
  return formatOf(wire).decode(valuesOfWire(wire, bytes), wire);
}

/** The fault of a wire that a peer sent (its length, or a non-finite value), or null. */
export function wireFault(wire: Wire, bytes: Uint8Array): Fault | null {
  const expected = wireBytes(wire);
  if (bytes.length !== expected) {
    return fault(
      "badNumbers",
      `The wire has ${bytes.length} bytes instead of ${expected}`,
    );
  }
  if (!formatOf(wire).isFinite(valuesOfWire(wire, bytes), wire)) {
    return fault("badNumbers", "The wire holds NaN or infinity");
  }
  if (!hasIds(wire, bytes)) {
    return fault("badNumbers", `The wire holds a token id that is not below ${wire.vocabSize}`);
  }
  return null;
}

function hasIds(wire: Wire, bytes: Uint8Array): boolean {
  const ids = idsOf(wire);
  return ids === null || areIds(idsPart(bytes, ids), ids);
}

export function wireRounding(wire: Wire): WireRounding {
  return formatOf(wire).rounding;
}

/** The magnitude of a wire's values; both are Infinity if `wireFault` finds a fault. */
export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number; // root mean square
}

/**
 * Two measures, because either alone can be fooled: the largest says nothing about the rest, and the root mean square
 * hides one huge value among many. Zeros for bytes of a wrong length, whose sender is refused anyway
 * (orchestrator/step/result_check.ts, which also defines the plausible scales). Invariant: whatever a consumer would
 * refuse (`wireFault`) has no finite scale, so that a consumer is not blamed for its sender.
 */
export function wireScale(wire: Wire, bytes: Uint8Array): WireScale {
  if (bytes.length !== wireBytes(wire)) return noScale;
  if (!hasIds(wire, bytes)) return badScale;
  const { largest, squareSum } = formatOf(wire).sums(valuesOfWire(wire, bytes), wire);
  return Number.isFinite(squareSum) ? { largest, rms: Math.sqrt(squareSum / (wire.rows * wire.width)) } : badScale;
}

/** The scale of a wire with non-finite values or invalid ids. */
export const badScale: WireScale = { largest: Infinity, rms: Infinity };

/** The scale of a message without a wire. */
export const noScale: WireScale = { largest: 0, rms: 0 };
