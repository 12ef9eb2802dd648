/** Codecs `q4block` to `q6block` on a GPU: the ends of codec `iota`; the device makes the codes. */

import { gradientCodes, wireCodes } from "../../core/codec/q_block.ts";
import type { GpuCodec } from "./codec.ts";
import { codesTransfer } from "./codes_transfer.ts";
import { iotaOnGpu } from "./iota.ts";

export function qBlockOnGpu(bits: number): GpuCodec {
  return {
    ...iotaOnGpu,
    transfers: { forward: codesTransfer(wireCodes(bits)), gradient: codesTransfer(gradientCodes) },
  };
}
