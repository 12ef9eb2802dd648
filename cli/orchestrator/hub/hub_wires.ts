/** Wires as bytes: what a task gets, and what is measured of a result. */

import { badScale, type Wire, wireBytes, wireIds, wireScale } from "../../../core/codec/wire.ts";
import { wiresApart } from "../../../core/codec/wire_apart.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { MicrobatchId } from "../../../core/ids.ts";
import type { Segment } from "../../../net/messages/frame.ts";
import type { BatchSource } from "../../model/data/dataset.ts";
import { Attachments } from "../../roles/attachments.ts";
import type { ByteSegments } from "../../roles/segments.ts";
import type { HubEdges } from "./hub_runtime.ts";

export function wireEdges(
  { config, batches, segments }: { config: RunConfig; batches: BatchSource; segments: ByteSegments },
): Pick<HubEdges<Uint8Array, Segment>, "segments" | "attach" | "scaleOf" | "apart"> {
  const attachments = new Attachments({ config, batches, segments });
  return {
    segments,
    attach: (attachment) => attachments.segmentOf(attachment),
    scaleOf: (wire, bytes, microbatch) =>
      isOfTokens(wire, { bytes, batches, microbatch }) ? wireScale(wire, bytes) : badScale,
    apart: wiresApart,
  };
}

/** Whether the token ids that a wire may carry are its microbatch's. */

export function isOfTokens(
  wire: Wire,
  { bytes, batches, microbatch }: {
    readonly bytes: Uint8Array;
    readonly batches: Pick<BatchSource, "tokensOf">;
    readonly microbatch: MicrobatchId;
  },
): boolean {
  if (bytes.length !== wireBytes(wire)) return true;
  const ids = wireIds(wire, bytes);
  if (ids === null) return true;
  const { inputs } = batches.tokensOf(microbatch);
  return ids.every((id, i) => id === inputs[i]);
}
