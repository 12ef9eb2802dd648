/**
 * Which blobs of the store may go. Content addressing lets different things be one blob (after the first round the outer
 * momentum is the averaged slice, byte for byte), so a blob goes only when nothing that stays has its hash.
 */

import type { BlobRef } from "../ids.ts";
import type { ParameterSource } from "../protocol/message.ts";
import type { OrchestratorEffect } from "./event.ts";
import type { OrchestratorState } from "./state.ts";

export function blobsOf(sources: readonly ParameterSource[]): BlobRef[] {
  return sources.flatMap((source) =>
    source.type === "initial"
      ? []
      : source.momentum === null
      ? [source.parameters]
      : [source.parameters, source.momentum]
  );
}

/** Deletes those of `refs` that no round in use, no upload and no merge needs. */
export function deleteUnused(state: OrchestratorState, refs: readonly BlobRef[]): OrchestratorEffect[] {
  const used = new Set(
    [...blobsOf(state.sources.stages), ...state.retired.flatMap(({ stages }) => blobsOf(stages))].map(hashOf),
  );
  for (const { merged } of state.upload?.stages ?? []) {
    used.add(merged.parameters.hash);
    if (merged.momentum !== null) used.add(merged.momentum.hash);
  }
  for (const stage of state.merge?.stages ?? []) {
    for (const payload of stage.payloads.values()) for (const ref of payload) used.add(ref.hash);
    for (const slice of stage.slices) for (const ref of slice.results.values()) used.add(ref.hash);
  }
  const unused = refs.filter((ref) => !used.has(ref.hash));
  return unused.length === 0 ? [] : [{ type: "deleteBlobs", refs: unused }];
}

const hashOf = (ref: BlobRef): string => ref.hash;
