/** Wires of few bits between device and host: the device makes the codes, and only they cross. */

import { type Wire, wireBytes } from "../../core/codec/wire.ts";
import type { CodesSpec } from "../../core/codec/scaled_codes.ts";
import type { BuildTransfer } from "./codec.ts";

type CodesOf = (wire: Wire) => CodesSpec;

export const codesTransfer = (codesOf: CodesOf): BuildTransfer => ({ ops, buffers }, { wire, values, label }) => {
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
