/**
 * The bytes of a wire and of the gradient on it: (B, T, width) row-major, little-endian float32 for codec `none`, bfloat16
 * for `iota`.
 *
 * Owns the mapping between values and bytes for every codec. Byte strings may start at any offset of their buffer (they are
 * segments of network frames). Refuses lengths that are no whole number of values; `wireFault` is the check for remote input.
 */

import { assert } from "../assert.ts";
import type { Fault } from "../fault.ts";
import { fault } from "../fault.ts";
import type { WireSpec } from "../model/spec.ts";
import { decodeBfloat16, encodeBfloat16 } from "./bfloat16.ts";

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

export function encodeWire(wire: WireSpec, values: Float32Array): Uint8Array<ArrayBuffer> {
  if (wire.bytesPerValue === 2) return encodeBfloat16(values);
  const bytes = new Uint8Array(values.length * 4);
  if (isLittleEndian) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    return bytes;
  }
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; i++) view.setFloat32(4 * i, values[i]!, true);
  return bytes;
}

export function decodeWire(wire: WireSpec, bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const count = bytes.length / wire.bytesPerValue;
  assert(
    Number.isInteger(count),
    `Cannot decode wire as 'bytes' must be a multiple of ${wire.bytesPerValue}: current length is ${bytes.length}`,
  );
  const values = new Float32Array(count);
  if (wire.bytesPerValue === 2) {
    decodeBfloat16(bytes, values);
  } else if (isLittleEndian) {
    new Uint8Array(values.buffer).set(bytes);
  } else {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let i = 0; i < count; i++) values[i] = view.getFloat32(4 * i, true);
  }
  return values;
}

/** True when every value of an encoded wire is a number: no NaN, no infinity. Reads exponents only, allocates nothing. */
export function isFiniteWire(wire: WireSpec, bytes: Uint8Array): boolean {
  const stride = wire.bytesPerValue;
  // The exponent is all ones in NaN and infinity: the low 7 bits of the last byte and the top bit of the one before.
  for (let last = stride - 1; last < bytes.length; last += stride) {
    if ((bytes[last]! & 0x7f) === 0x7f && (bytes[last - 1]! & 0x80) !== 0) return false;
  }
  return true;
}

/** What is wrong with a wire a peer sent, or null. `expectedBytes` is `wireBytes(stage, wire)`. */
export function wireFault(wire: WireSpec, bytes: Uint8Array, expectedBytes: number): Fault | null {
  if (bytes.length !== expectedBytes) {
    return fault(
      "badNumbers",
      `Cannot take wire as its length must be ${expectedBytes} bytes: current value is ${bytes.length}`,
    );
  }
  if (!isFiniteWire(wire, bytes)) {
    return fault("badNumbers", "Cannot take wire as every value must be finite: it holds NaN or infinity");
  }
  return null;
}
