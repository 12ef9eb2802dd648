/** Float32 wires between device and host: the buffer of values is the wire, byte for byte, so nothing is encoded or copied. */

import type { BuildTransfer } from "./codec.ts";

export const float32Transfer: BuildTransfer = (_context, { wire, values }) => ({
  wire,
  staged: values,
  key: null,
  decode: [],
  encode: [],
  toStaged: (bytes) => bytes, // WebGPU's memory is little-endian, as the wire is
  fromStaged: (content) => new Uint8Array(content),
});
