/**
 * From one round's parameters to the next's by the slices of the merge in between, which are a fraction of the parameters.
 *
 * The result's hash must be that of the parameters: anything else (the stage was replaced, a slice is gone or another one) means
 * that they have to be fetched.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import type { ParameterSource } from "../../../core/protocol/message.ts";
import { nameOf } from "../../../net/blob_hash.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";
import { mergeStage } from "./merge_work.ts";

/** The source's parameters; null if its merge does not lead from these to them. */
export async function followMerge(
  before: Float32Array,
  { config, source, blobs }: { config: RunConfig; source: ParameterSource; blobs: BlobAccess },
): Promise<Float32Array | null> {
  if (source.type === "initial" || source.merge === undefined) return null;
  try {
    const { parameters } = await mergeStage({
      start: { parameters: before, momentum: null },
      slices: source.merge.slices,
      outer: config.outer,
      codec: payloadCodecOf(config),
      blobs,
    });
    return (await nameOf(bytesOfFloats(parameters))).hash === source.parameters.hash ? parameters : null;
  } catch (error) {
    if (error instanceof BlobError) return null;
    throw error;
  }
}
