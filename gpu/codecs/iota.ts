/**
 * Codec `iota` on a device.
 *
 * Receiver: x0 = ReLU(W_dec z) feeds the attention half; z is re-inserted into the first r residual columns. Sender: z
 * = W_enc SiLU(f) + a[:, :r], f the FFN half's output without residual, a its input. The receiver's attention
 * regenerates the residual columns that do not cross.
 */

import { decoderName, encoderName } from "../../core/codec/iota.ts";
import { noPiece } from "../layers/block_ends.ts";
import { buildLinear, type LayerContext, type Piece } from "../layers/context.ts";
import { bfloat16Transfer } from "./bfloat16_transfer.ts";
import type { BuildTransfer, GpuCodec, Receiver, ReceiverOptions, Sender, SenderOptions } from "./codec.ts";
import { leadingColumns } from "./leading_columns.ts";
import { gradientCodes, wireCodes } from "../../core/codec/q_block.ts";
import { type Wire, wireBytes } from "../../core/codec/wire.ts";
import type { CodesSpec } from "../../core/codec/scaled_codes.ts";

export const iotaOnGpu: GpuCodec = {
  buildReceiver,
  buildSender,
  transfers: { forward: bfloat16Transfer, gradient: bfloat16Transfer },
};

function buildReceiver(context: LayerContext, { wireWidth, hold, attended }: ReceiverOptions): Receiver {
  const { ops, buffers, rows, width, spec, residualGradient } = context;
  const wire = buffers.storage("wire in", rows * wireWidth);
  const wireGradient = buffers.scratch("wire in gradient", rows * wireWidth);
  const lifted = hold("decoded wire", rows * width);
  const expanded = hold("expanded wire", rows * width);
  const expandedGradient = buffers.scratch("expanded wire gradient", rows * width);
  const decoder = buildLinear(context, {
    names: [decoderName(spec.index)],
    inWidth: wireWidth,
    outWidth: width,
    input: wire,
    output: lifted,
    outputGradient: expandedGradient,
    inputGradient: wireGradient,
  });
  const activation = { rows, width, type: "relu" } as const;
  const leading = leadingColumns(context, wireWidth);
  return {
    wire: { value: wire, gradient: wireGradient },
    input: expanded,
    residual: undefined,
    inputGradient: expandedGradient,
    accumulate: false,
    before: {
      forward: [...decoder.forward, ops.boundaryActivation(activation, { input: lifted, output: expanded })],
      backward: () => [
        ops.boundaryActivationBackward(activation, { input: lifted, gradient: expandedGradient }),
        ...decoder.backward(),
        // Last, because the product above overwrites the wire's gradient.
        leading.addFrom({ wide: residualGradient, narrow: wireGradient }),
      ],
    },
    after: { ...noPiece, forward: [leading.addTo({ wide: attended, narrow: wire })] },
  };
}

/** Its backward starts the residual gradient: dL/da = dL/dz, padded with zeros. */
function buildSender(context: LayerContext, { wireWidth, hold, attended, output }: SenderOptions): Sender {
  const { ops, buffers, rows, width, spec, residualGradient } = context;
  const wire = buffers.scratch("wire out", rows * wireWidth);
  const wireGradient = buffers.scratch("wire out gradient", rows * wireWidth);
  const outputGradient = buffers.scratch("encoder output gradient", rows * width);
  const activated = hold("encoder input", rows * width);
  const encoder = buildLinear(context, {
    names: [encoderName(spec.index + 1)],
    inWidth: width,
    outWidth: wireWidth,
    input: activated,
    output: wire,
    outputGradient: wireGradient,
    inputGradient: outputGradient,
  });
  const activation = { rows, width, type: "silu" } as const;
  const leading = leadingColumns(context, wireWidth);
  const after: Piece = {
    forward: [
      ops.boundaryActivation(activation, { input: output, output: activated }),
      ...encoder.forward,
      leading.addFrom({ wide: attended, narrow: wire }),
    ],
    backward: () => [
      ...encoder.backward(),
      ops.boundaryActivationBackward(activation, { input: output, gradient: outputGradient }),
      leading.pad({ wide: residualGradient, narrow: wireGradient }),
    ],
  };
  return { wire: { value: wire, gradient: wireGradient }, residual: undefined, outputGradient, after };
}

/** `q4block` to `q6block` have the ends of `iota`. */
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
