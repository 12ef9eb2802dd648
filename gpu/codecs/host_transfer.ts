/**
 * Wires of any codec between device and host, without kernels: the values cross, and the host encodes and decodes them with the
 * codec's CPU code. Works for every codec that does not round at random, and is the place to start with a new one.
 */

import { decodeWire, encodeWire } from "../../core/codec/wire.ts";
import type { BuildTransfer } from "./codec.ts";

export const hostTransfer: BuildTransfer = (_context, { wire, values }) => ({
  wire,
  staged: values,
  key: null,
  decode: [],
  encode: [],
  toStaged: (bytes) => decodeWire(wire, bytes),
  fromStaged: (content) => encodeWire(wire, new Float32Array(content)),
});
