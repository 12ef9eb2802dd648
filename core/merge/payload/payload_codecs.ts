/**
 * The table of payload codecs, and which one a run uses.
 *
 * A new codec is a file beside `float32.ts` and a line here. The second codec makes the choice a setting of the run: a knob
 * `outer.payload` whose choices are the keys of this table, read only by `payloadCodecOf`. The configuration travels in
 * `welcome`, so a node that does not know the name refuses the run. The bytes behind a name are frozen in
 * `tests/vectors/merge/payloads.json`. Changed bytes need a new version and, since all nodes must agree on it, a new
 * PROTOCOL_VERSION, which the hello compares.
 */

import type { RunConfig } from "../../config/config.ts";
import { float32 } from "./float32.ts";
import type { PayloadCodec } from "./payload_codec.ts";

export type PayloadCodecName = "float32";

export const payloadCodecs: Readonly<Record<PayloadCodecName, PayloadCodec>> = { float32 };

/** The codec of this run's payloads. */
export function payloadCodecOf(_config: RunConfig): PayloadCodec {
  return payloadCodecs.float32;
}
