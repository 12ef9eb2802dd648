/**
 * Codec `resbm` on a device: an encoder and decoder outside the blocks, beside a rectangular identity.
 *
 * Sender: z = W_2 SiLU(W_1 h) + h[:, :r], h the residual stream behind the last block. Receiver: h' = V_2 SiLU(V_1 z) +
 * [z, 0], the residual stream of the first block.
 */

import { resbmDecoderNames, resbmEncoderNames, resbmHidden } from "../../core/codec/resbm.ts";
import { noPiece, plainEnd, plainStart } from "../layers/block_ends.ts";
import { buildLinear, type Hold, type LayerContext, type Piece } from "../layers/context.ts";
import type { BufferRange } from "../stage_ops.ts";
import { bfloat16Transfer } from "./bfloat16_transfer.ts";
import type { GpuCodec, Receiver, ReceiverOptions, Sender, SenderOptions } from "./codec.ts";
import { leadingColumns } from "./leading_columns.ts";

export const resbmOnGpu: GpuCodec = {
  buildReceiver,
  buildSender,
  transfers: { forward: bfloat16Transfer, gradient: bfloat16Transfer },
};

function buildReceiver(context: LayerContext, { wireWidth, hold }: ReceiverOptions): Receiver {
  const { buffers, rows, width, spec, residualGradient } = context;
  const value = buffers.storage("wire in", rows * wireWidth);
  const gradient = buffers.scratch("wire in gradient", rows * wireWidth);
  const stream = hold("expanded wire", rows * width);
  const decoder = buildResidualMlp(context, {
    ...{ end: "decoder", names: resbmDecoderNames(spec.index), hold },
    ...{ inWidth: wireWidth, hiddenWidth: resbmHidden(wireWidth), outWidth: width },
    ...{ input: value, output: stream, outputGradient: residualGradient, inputGradient: gradient },
  });
  const leading = leadingColumns(context, wireWidth);
  return {
    ...plainStart(context, stream),
    wire: { value, gradient },
    before: {
      forward: [...decoder.forward, leading.addTo({ wide: stream, narrow: value })],
      // The identity last, because the decoder overwrites the wire's gradient.
      backward: () => [...decoder.backward(), leading.addFrom({ wide: residualGradient, narrow: gradient })],
    },
    after: noPiece,
  };
}

function buildSender(context: LayerContext, { wireWidth, hold, attended, output }: SenderOptions): Sender {
  const { buffers, rows, width, spec, residualGradient } = context;
  const value = buffers.scratch("wire out", rows * wireWidth);
  const gradient = buffers.scratch("wire out gradient", rows * wireWidth);
  const encoder = buildResidualMlp(context, {
    ...{ end: "encoder", names: resbmEncoderNames(spec.index + 1), hold },
    ...{ inWidth: width, hiddenWidth: resbmHidden(wireWidth), outWidth: wireWidth },
    ...{ input: output, output: value, outputGradient: gradient, inputGradient: residualGradient },
  });
  const leading = leadingColumns(context, wireWidth);
  return {
    ...plainEnd(context, attended),
    wire: { value, gradient },
    after: {
      forward: [...encoder.forward, leading.addFrom({ wide: output, narrow: value })],
      backward: () => [...encoder.backward(), leading.addTo({ wide: residualGradient, narrow: gradient })],
    },
  };
}

interface ResidualMlp {
  readonly end: "decoder" | "encoder"; // a stage may have both
  readonly names: readonly [first: string, second: string];
  readonly hold: Hold;
  readonly inWidth: number;
  readonly hiddenWidth: number;
  readonly outWidth: number;
  readonly input: BufferRange; // (rows, inWidth)
  readonly output: BufferRange; // (rows, outWidth)
  readonly outputGradient: BufferRange;
  readonly inputGradient: BufferRange; // overwritten
}

function buildResidualMlp(context: LayerContext, mlp: ResidualMlp): Piece {
  const { ops, buffers, rows } = context;
  const { end, names, hold, inWidth, hiddenWidth, outWidth, input, output, outputGradient, inputGradient } = mlp;
  const lifted = hold(`${end} hidden`, rows * hiddenWidth);
  const activated = hold(`${end} activated`, rows * hiddenWidth);
  const hiddenGradient = buffers.scratch(`${end} hidden gradient`, rows * hiddenWidth);
  const first = buildLinear(context, {
    ...{ names: [names[0]], inWidth, outWidth: hiddenWidth, input, output: lifted },
    ...{ outputGradient: hiddenGradient, inputGradient },
  });
  const second = buildLinear(context, {
    ...{ names: [names[1]], inWidth: hiddenWidth, outWidth, input: activated, output },
    ...{ outputGradient, inputGradient: hiddenGradient },
  });
  const activation = { rows, width: hiddenWidth, type: "silu" } as const;
  return {
    forward: [
      ...first.forward,
      ops.boundaryActivation(activation, { input: lifted, output: activated }),
      ...second.forward,
    ],
    backward: () => [
      ...second.backward(),
      ops.boundaryActivationBackward(activation, { input: lifted, gradient: hiddenGradient }),
      ...first.backward(),
    ],
  };
}
