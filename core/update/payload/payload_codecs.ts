/**
 * The table of payload codecs, and the choice for a run.
 *
 * A new codec is a file beside `float32.ts`, a name in `payload_codec_names.ts` and a line here. The choice is the knob
 * `outer.payload`, read only by `payloadCodecOf`. The configuration travels in `welcome`, so a node that does not know
 * the name refuses the run. The bytes behind a name are frozen in `tests/vectors/merge/payloads.json`. Changed bytes
 * need a new version and, because all nodes must agree on it, a new PROTOCOL_VERSION, which the hello compares.
 */

import type { RunConfig } from "../../config/config.ts";
import { bf16 } from "./bf16.ts";
import { float32 } from "./float32.ts";
import { int8 } from "./int8.ts";
import type { PayloadCodec } from "./payload_codec.ts";
import { defaultPayloadCodec, type PayloadCodecName } from "../../config/payload_codec_names.ts";
import { sparse } from "./sparse.ts";

/** With default settings. */
export const payloadCodecs: Readonly<Record<PayloadCodecName, PayloadCodec>> = { float32, bf16, int8, sparse };

/** The codec of this run's payloads. */
export function payloadCodecOf({ outer }: Pick<RunConfig, "outer">): PayloadCodec {
  const codec = payloadCodecs[outer.payload ?? defaultPayloadCodec];
  return codec.tuned?.(outer) ?? codec;
}
