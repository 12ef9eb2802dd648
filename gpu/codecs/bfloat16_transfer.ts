/** The device rounds and widens, so that half of the bytes cross. */

import { wireBytes } from "../../core/codec/wire.ts";
import type { BuildTransfer } from "./codec.ts";

export const bfloat16Transfer: BuildTransfer = ({ ops, buffers }, { wire, values, label }) => {
  const count = wire.rows * wire.width;
  const staged = buffers.scratch(`${label} as bfloat16`, count / 2);
  return {
    wire,
    staged,
    key: null,
    decode: [ops.bfloat16Decode(count, { bytes: staged, values })],
    encode: [ops.bfloat16Encode(count, { bytes: staged, values })],
    toStaged: (bytes) => bytes,
    fromStaged: (content) => new Uint8Array(content, 0, wireBytes(wire)),
  };
};
