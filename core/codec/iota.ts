/**
 * Codec `iota`: the bottleneck of the original IOTA (arXiv 2507.17766). An encoder reduces the d residual coordinates
 * to r, which cross as bfloat16 in both directions; a decoder restores d.
 */

import { normalFor } from "../tensor.ts";
import { bfloat16 } from "./bfloat16.ts";
import type { WireCodec } from "./codec.ts";

/** (r, d), in the stage before the boundary. */
export const encoderName = (index: number) => `model.boundary.${index}.encoder.weight`;
/** (d, r), in the stage after it. */
export const decoderName = (index: number) => `model.boundary.${index}.decoder.weight`;

export const iotaCodec: WireCodec = {
  keepsStream: false,
  describe: (wireWidth) => ` with ${wireWidth} values per token`,
  wireWidth: ({ pipeline }) => pipeline.bottleneckWidth,
  formats: { forward: bfloat16, gradient: bfloat16 },
  sender: {
    // Divided by sqrt(2 L), like all that writes into the residual stream.
    tensors: ({ index, layers, modelWidth, wireWidth }) => [{
      name: encoderName(index),
      shape: [wireWidth, modelWidth],
      initial: normalFor(modelWidth, 1 / Math.sqrt(2 * layers)),
    }],
    flops: ({ modelWidth, wireWidth }) => 2 * modelWidth * wireWidth,
  },
  receiver: {
    tensors: ({ index, modelWidth, wireWidth }) => [{
      name: decoderName(index),
      shape: [modelWidth, wireWidth],
      initial: normalFor(wireWidth),
    }],
    flops: ({ modelWidth, wireWidth }) => 2 * modelWidth * wireWidth,
  },
};
