/**
 * The table of wire codecs. A new codec is a file beside this one, a name in codec_names.ts and a line here; the
 * compiler then asks for its kernels (gpu/codecs/codecs.ts) and for its reference
 * (tests/lab/reference/codecs/codecs.ts).
 */

import type { WireCodec } from "./codec.ts";
import type { Codec } from "./codec_names.ts";
import { iotaCodec } from "./iota.ts";
import { noneCodec } from "./none.ts";
import { qBlockCodec } from "./q_block.ts";
import { resbmCodec } from "./resbm.ts";

export const codecs: Readonly<Record<Codec, WireCodec>> = {
  none: noneCodec,
  iota: iotaCodec,
  resbm: resbmCodec,
  q4block: qBlockCodec(4),
  q5block: qBlockCodec(5),
  q6block: qBlockCodec(6),
};
