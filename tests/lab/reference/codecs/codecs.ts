/** The table of wire codecs in float64: one for each name of core/codec/codec_names.ts, or it does not compile. */

import type { Codec } from "../../../../core/codec/codec_names.ts";
import type { ReferenceCodec } from "./codec.ts";
import { iotaReference } from "./iota.ts";
import { noneReference } from "./none.ts";
import { resbmReference } from "./resbm.ts";

export const referenceCodecs: Readonly<Record<Codec, ReferenceCodec>> = {
  none: noneReference,
  iota: iotaReference,
  resbm: resbmReference,
  q4block: iotaReference,
  q5block: iotaReference,
  q6block: iotaReference,
};
