/** The table of wire codecs. */

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
