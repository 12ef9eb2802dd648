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
import { noKey, roundingKey } from "./rounding_key.ts";
import { areIds, idBytes, readIds, type WireIds, writeIds } from "./wire_ids.ts";

/** What all wires of a run have in common. Plain data: it is sent to workers and stored in snapshots. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token, set by the codec
  readonly gradientBits?: GradientBits; // where the run chose others than the codec's own
  readonly vocabSize?: number; // where the ids of its tokens cross with the values
  readonly sideWidth?: number; // values that the receiver keeps of each token, whose ids then cross
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

/** The same wire without its tokens' ids: their bytes come after the values'. */
export function withoutIds({ vocabSize: _, ...wire }: Wire): Wire {
  return wire;
}

/** The bytes of the values, which come first. */
export function valuesOfWire(wire: Wire, bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, formatOf(wire).byteLength(wire));
}

/** Null where they do not cross. */
export function wireIds(wire: Wire, bytes: Uint8Array): Uint32Array<ArrayBuffer> | null {
  const ids = idsOf(wire);
  return ids === null ? null : readIds(idsPart(bytes, ids), ids);
}

const idsPart = (bytes: Uint8Array, ids: WireIds): Uint8Array => bytes.subarray(bytes.length - idBytes(ids));

/** `values`: of the wire without ids. `ids`: those of the stage's input; not read where they do not cross. */
export function withIds(wire: Wire, values: Uint8Array, ids: Uint32Array | null): Uint8Array {
  const form = idsOf(wire);
  if (form === null) return values;
  assert(
    ids?.length === wire.rows,
    `Cannot encode a wire as there must be ${wire.rows} ids: current value is ${ids?.length}`,
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

/** As a stage sends them: `values` (rows, width) is the gradient of the wire whose bytes were the stage's `input`. */
export const encodeGradient = (wire: Wire, values: Float32Array, input: Uint8Array): Uint8Array =>
  encodeValues(wire, values, roundingKey(input));

function encodeValues(wire: Wire, values: Float32Array, key: number): Uint8Array {
  const count = wire.rows * wire.width;
  assert(
    values.length === count,
    `Cannot encode a wire as there must be ${count} values: current value is ${values.length}`,
  );
  return formatOf(wire).encode(values, wire, key);
}

/** (rows, width) */
export function decodeWire(wire: Wire, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const expected = wireBytes(wire);
  assert(
    bytes.length === expected,
    `Cannot decode a wire as it must have ${expected} bytes: current value is ${bytes.length}`,
  );
  return formatOf(wire).decode(valuesOfWire(wire, bytes), wire);
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
  if (!formatOf(wire).isFinite(valuesOfWire(wire, bytes), wire)) {
    return fault("badNumbers", "Cannot accept wire as every value must be finite: it holds NaN or infinity");
  }
  if (!hasIds(wire, bytes)) {
    return fault("badNumbers", `Cannot accept wire as its tokens' ids must be below ${wire.vocabSize}: one is not`);
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

/** How large a wire's values are; both are Infinity if `wireFault` finds one in its bytes. */
export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number; // root mean square
}

/**
 * Two measures, since either alone can be fooled: the largest says nothing about the rest, and the root mean square hides one
 * huge value among many. Zeros for bytes of a wrong length, which have no values: their sender is refused for that
 * (orchestrator/step/result_check.ts, which also defines the plausible scales). Invariant: whatever a consumer would refuse
 * (`wireFault`) has no finite scale, or a consumer that refuses it would be blamed for its sender.
 */
export function wireScale(wire: Wire, bytes: Uint8Array): WireScale {
  if (bytes.length !== wireBytes(wire)) return noScale;
  if (!hasIds(wire, bytes)) return badScale;
  const { largest, squareSum } = formatOf(wire).sums(valuesOfWire(wire, bytes), wire);
  return Number.isFinite(squareSum) ? { largest, rms: Math.sqrt(squareSum / (wire.rows * wire.width)) } : badScale;
}

/** The scale of a wire that holds something else than finite values, or than its tokens' ids. */
export const badScale: WireScale = { largest: Infinity, rms: Infinity };

/** The scale of a message without a wire. */
export const noScale: WireScale = { largest: 0, rms: 0 };
