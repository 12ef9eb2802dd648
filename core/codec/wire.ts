/**
 * A wire, or the gradient on one, as values and as bytes. Lengths of our own are asserted, a peer's bytes are checked
 * (`wireFault`). Bytes may start at any offset of their buffer.
 */

import { assert } from "../assert.ts";
import { type Fault, fault } from "../fault.ts";
import type { WireDirection, WireFormat, WireRounding, WireShape } from "./codec.ts";
import type { Codec, GradientBits } from "./codec_names.ts";
import { codecs } from "./codecs.ts";
import { noKey } from "./rounding_key.ts";
import { areIds, idBytes, readIds, type WireIds, writeIds } from "./wire_ids.ts";

/** What all wires of a run share. Plain data: it goes to workers and snapshots. */
export interface WireSpec {
  readonly codec: Codec;
  readonly width: number; // values per token
  readonly gradientBits?: GradientBits; // absent: the codec's own
  readonly vocabSize?: number; // present if token ids cross too
  readonly sideWidth?: number; // of the receiver's side embedding; present if ids cross
}

/** Whether the same parameters serve both; bits of gradients may differ. */
export function isSameWire(a: WireSpec | null, b: WireSpec | null): boolean {
  const named = (wire: WireSpec | null) => wire && `${wire.codec} ${wire.width} ${wire.sideWidth ?? 0}`;
  return named(a) === named(b);
}

/** (rows, width) */
export interface Wire extends WireSpec, WireShape {
  readonly direction: WireDirection;
}

export function formatOf({ codec, direction, gradientBits }: Wire): WireFormat {
  const { formats, gradientFormats } = codecs[codec];
  const chosen = direction === "gradient" && gradientBits !== undefined ? gradientFormats?.[gradientBits] : undefined;
  return chosen ?? formats[direction];
}

/** Gradients carry no ids. */
function idsOf({ vocabSize, rows, direction }: Wire): WireIds | null {
  return vocabSize === undefined || direction === "gradient" ? null : { vocabSize, rows };
}

export function wireBytes(wire: Wire): number {
  const ids = idsOf(wire);
  return formatOf(wire).byteLength(wire) + (ids === null ? 0 : idBytes(ids));
}

export function withoutIds({ vocabSize: _, ...wire }: Wire): Wire {
  return wire;
}

export function valuesOfWire(wire: Wire, bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, formatOf(wire).byteLength(wire));
}

/** Null if no ids cross. */
export function wireIds(wire: Wire, bytes: Uint8Array): Uint32Array<ArrayBuffer> | null {
  const ids = idsOf(wire);
  return ids === null ? null : readIds(idsPart(bytes, ids), ids);
}

const idsPart = (bytes: Uint8Array, ids: WireIds): Uint8Array => bytes.subarray(bytes.length - idBytes(ids));

/** `values`: encoded, without ids. `ids`: of the stage's input; ignored unless they cross. */
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

/** `values` (rows, width). */
export function encodeWire(wire: Wire, values: Float32Array, ids: Uint32Array | null = null): Uint8Array {
  const count = wire.rows * wire.width;
  assert(
    values.length === count,
    `A wire of ${count} values got ${values.length}`,
  );
  return withIds(wire, formatOf(wire).encode(values, wire, noKey), ids);
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

/** Null if a peer's bytes are sound. */
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

/** Both are Infinity if `wireFault` finds a fault, so that a consumer is not blamed for its sender. */
export interface WireScale {
  readonly largest: number; // absolute value
  readonly rms: number;
}

/**
 * Two measures, because the largest says nothing about the rest, and the root mean square hides one huge value. Zeros
 * for bytes of a wrong length, whose sender is refused anyway (orchestrator/step/result_check.ts).
 */
export function wireScale(wire: Wire, bytes: Uint8Array): WireScale {
  if (bytes.length !== wireBytes(wire)) return noScale;
  if (!hasIds(wire, bytes)) return badScale;
  const { largest, squareSum } = formatOf(wire).sums(valuesOfWire(wire, bytes), wire);
  return Number.isFinite(squareSum) ? { largest, rms: Math.sqrt(squareSum / (wire.rows * wire.width)) } : badScale;
}

export const badScale: WireScale = { largest: Infinity, rms: Infinity };

/** For a message without a wire. */
export const noScale: WireScale = { largest: 0, rms: 0 };
