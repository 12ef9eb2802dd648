/** Codecs `q4block` to `q6block` on a GPU: the ends of codec `iota`; the device makes the codes. */

import { gradientCodes, wireCodes } from "../../core/codec/q_block.ts";
import { type Wire, wireBytes } from "../../core/codec/wire.ts";
import type { BuildTransfer, GpuCodec } from "./codec.ts";
import { iotaOnGpu } from "./iota.ts";
import type { CodesSpec } from "../../core/codec/scaled_codes.ts";

type CodesOf = (wire: Wire) => CodesSpec;

const codesTransfer = (codesOf: CodesOf): BuildTransfer => ({ ops, buffers }, { wire, values, label }) => {
  const codes = codesOf(wire);
  const length = wireBytes(wire);
  const staged = buffers.scratch(`${label} as codes`, length / 4);
  const key = buffers.scratch(`${label} rounding key`, 1);
  const operands = { codes, shape: wire, bytes: staged, values };
  return {
    wire,
    staged,
    key: codes.grid === "stochastic" ? key : null,
    decode: ops.codesDecode(operands),
    encode: ops.codesEncode({ ...operands, key }),
    toStaged: (bytes) => bytes,
    fromStaged: (content) => new Uint8Array(content, 0, length),
  };
};

const gradientsOf = ({ gradientBits }: Wire) => gradientCodes(gradientBits);

export function qBlockOnGpu(bits: number): GpuCodec {
  return {
    ...iotaOnGpu,
    transfers: { forward: codesTransfer(() => wireCodes(bits)), gradient: codesTransfer(gradientsOf) },
  };
}
