/** Codecs `q4block` to `q6block` on a GPU: the ends of codec `iota`; the device makes the codes. */

import { gradientCodes, wireCodes } from "../../core/codec/q_block.ts";
import type { Wire } from "../../core/codec/wire.ts";
import type { GpuCodec } from "./codec.ts";
import { codesTransfer } from "./codes_transfer.ts";
import { iotaOnGpu } from "./iota.ts";

const gradientsOf = ({ gradientBits }: Wire) => gradientCodes(gradientBits);

export function qBlockOnGpu(bits: number): GpuCodec {
  return {
    ...iotaOnGpu,
    transfers: { forward: codesTransfer(() => wireCodes(bits)), gradient: codesTransfer(gradientsOf) },
  };
}
