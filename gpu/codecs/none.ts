/**
 * Codec `none` on a GPU: blocks at a boundary are as plain as inside a stage. The wire is the residual stream and its gradient
 * the residual gradient, in the very buffers of the blocks.
 */

import { plainEnd, plainStart } from "../layers/block_ends.ts";
import type { GpuCodec } from "./codec.ts";
import { float32Transfer } from "./float32_transfer.ts";

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
