/**
 * Codec `none` on a GPU: blocks at a boundary are the same as inside a stage. The wire is the residual stream and its gradient
 * the residual gradient, in the very buffers of the blocks.
 */

import { plainEnd, plainStart } from "../layers/block_ends.ts";
import type { BuildTransfer, GpuCodec } from "./codec.ts";

/** The buffer of values is the wire, byte for byte, so nothing is encoded or copied. */
const float32Transfer: BuildTransfer = (_context, { wire, values }) => ({
  wire,
  staged: values,
  key: null,
  decode: [],
  encode: [],
  toStaged: (bytes) => bytes, // WebGPU's memory is little-endian, as the wire is
  fromStaged: (content) => new Uint8Array(content),
});

export const noneOnGpu: GpuCodec = {
  buildReceiver(context, { wireWidth }) {
    const value = context.buffers.storage("wire in", context.rows * wireWidth);
    return { ...plainStart(context, value), wire: { value, gradient: context.residualGradient } };
  },
  buildSender(context, { attended, output }) {
    return { ...plainEnd(context, attended), wire: { value: output, gradient: context.residualGradient } };
  },
  transfers: { forward: float32Transfer, gradient: float32Transfer },
};
