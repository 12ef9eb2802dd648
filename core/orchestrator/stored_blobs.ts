/**
 * Which blobs of the store may be deleted: only those whose hash nothing else has. Content addressing lets different
 * things be one blob: after the first round the outer momentum is the averaged slice, byte for byte.
 */

import type { BlobHash, BlobRef } from "../ids.ts";
import type { ParameterSource } from "../protocol/message.ts";
import type { OrchestratorEffect } from "./event.ts";
import { blobsOfPath } from "./members/catch_up.ts";
import type { UploadWork } from "./merge/merge_state.ts";
import type { OrchestratorState } from "./state.ts";

export function blobsOf(sources: readonly ParameterSource[]): BlobRef[] {
  return sources.flatMap((source) => {
    if (source.type === "initial") return [];
    return source.momentum === null ? [source.parameters] : [source.parameters, source.momentum];
  });
}

/** The vectors, and the slices that lead to them. */
export const readableOf = (sources: readonly ParameterSource[]): BlobRef[] => [
  ...blobsOf(sources),
  ...sources.flatMap((source) => source.type === "initial" ? [] : source.merge?.slices ?? []),
];

export function uploadBlobs(upload: UploadWork | null): BlobHash[] {
  if (upload === null) return [];
  const vectors = upload.stages.flatMap(({ merged: { parameters, momentum } }) => [parameters, momentum ?? []].flat());
  return [...vectors.map(({ hash }) => hash), ...upload.payloads];
}

export function usedBlobs(state: OrchestratorState): Set<string> {
  const used = new Set<string>();
  const use = (refs: readonly BlobRef[]) => {
    for (const ref of refs) used.add(ref.hash);
  };
  use(readableOf(state.sources.stages));
  for (const { stages } of state.retired) use(readableOf(stages));
  for (const path of state.catchingUp.values()) use(blobsOfPath(path));
  for (const { states } of state.audit.held.values()) use(states);
  for (const { ends } of state.audit.trials) for (const { slices } of ends) use(slices ?? []);
  use(readableOf(state.good?.sources.stages ?? []));
  for (const hash of uploadBlobs(state.upload)) used.add(hash);
  for (const stage of state.merge?.stages ?? []) {
    for (const { hashes } of stage.payloads.values()) for (const hash of hashes) used.add(hash);
    for (const slice of stage.slices) use([...slice.results.values()]);
    const { refereed } = stage; // the orchestrator's own result
    if (refereed !== null) {
      use(refereed.momentum === null ? [refereed.parameters] : [refereed.parameters, refereed.momentum]);
    }
  }
  return used;
}

export function deleteUnused(state: OrchestratorState, hashes: readonly BlobHash[]): OrchestratorEffect[] {
  if (hashes.length === 0) return [];
  const used = usedBlobs(state);
  const unused = hashes.filter((hash) => !used.has(hash));
  return unused.length === 0 ? [] : [{ type: "deleteBlobs", hashes: unused }];
}
