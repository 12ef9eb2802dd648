/** The table of wire codecs on a GPU: one for each name of core/codec/codec_names.ts, or it does not compile. */

import type { Codec } from "../../core/codec/codec_names.ts";
import type { GpuCodec } from "./codec.ts";
import { iotaOnGpu } from "./iota.ts";
import { noneOnGpu } from "./none.ts";
import { qBlockOnGpu } from "./q_block.ts";
import { resbmOnGpu } from "./resbm.ts";

export const gpuCodecs: Readonly<Record<Codec, GpuCodec>> = {
  none: noneOnGpu,
  iota: iotaOnGpu,
  resbm: resbmOnGpu,
  q4block: qBlockOnGpu(4),
  q5block: qBlockOnGpu(5),
  q6block: qBlockOnGpu(6),
};
