/** Codec `none`: the residual stream as float32 in both directions. */

import type { WireCodec, WireEnd } from "./codec.ts";
import { float32 } from "./float32.ts";

const plainEnd: WireEnd = { tensors: () => [], flops: () => 0 };

export const noneCodec: WireCodec = {
  keepsStream: true,
  describe: () => "",
  wireWidth: ({ model }) => model.width,
  formats: { forward: float32, gradient: float32 },
  sender: plainEnd,
  receiver: plainEnd,
};
