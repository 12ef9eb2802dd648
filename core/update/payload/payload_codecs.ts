/**
 * The table of payload codecs, and a run's choice. Changed bytes (frozen in `tests/vectors/merge/payloads.json`) need a
 * new version and PROTOCOL_VERSION, on which all nodes agree.
 */

import type { RunConfig } from "../../config/config.ts";
import { bf16 } from "./bf16.ts";
import { float32 } from "./float32.ts";
import { int8 } from "./int8.ts";
import type { PayloadCodec } from "./payload_codec.ts";
import { defaultPayloadCodec, type PayloadCodecName } from "../../config/payload_codec_names.ts";
import { sparse } from "./sparse.ts";

/** Codecs with default settings. */
export const payloadCodecs: Readonly<Record<PayloadCodecName, PayloadCodec>> = { float32, bf16, int8, sparse };

export function payloadCodecOf({ outer }: Pick<RunConfig, "outer">): PayloadCodec {
  const codec = payloadCodecs[outer.payload ?? defaultPayloadCodec];
  return codec.tuned?.(outer) ?? codec;
}
