/** The table of wire codecs on a GPU: one for each name of core/codec/codec_names.ts, or it does not compile. */

import type { Codec } from "../../core/codec/codec_names.ts";
import type { BuildTransfer, GpuCodec } from "./codec.ts";
import { iotaOnGpu, qBlockOnGpu } from "./iota.ts";
import { resbmOnGpu } from "./resbm.ts";
import { plainEnd, plainStart } from "../layers/block_ends.ts";

/** The values are the wire, byte for byte. */
const float32Transfer: BuildTransfer = (_context, { wire, values }) => ({
  wire,
  staged: values,
  key: null,
  decode: [],
  encode: [],
  toStaged: (bytes) => bytes, // both are little-endian
  fromStaged: (content) => new Uint8Array(content),
});

const noneOnGpu: GpuCodec = {
  buildReceiver(context, { wireWidth }) {
    const value = context.buffers.storage("wire in", context.rows * wireWidth);
    return { ...plainStart(context, value), wire: { value, gradient: context.residualGradient } };
  },
  buildSender(context, { attended, output }) {
    return { ...plainEnd(context, attended), wire: { value: output, gradient: context.residualGradient } };
  },
  transfers: { forward: float32Transfer, gradient: float32Transfer },
};

export const gpuCodecs: Readonly<Record<Codec, GpuCodec>> = {
  none: noneOnGpu,
  iota: iotaOnGpu,
  resbm: resbmOnGpu,
  q4block: qBlockOnGpu(4),
  q5block: qBlockOnGpu(5),
  q6block: qBlockOnGpu(6),
};
