/**
 * The hub takes a merge's outer step itself, again, once its starting point has been found.
 *
 * Where the stage's own parameters are gone, the slices are a difference from something that nobody has: the stage continues
 * with their replacement.
 */

import type { StageIndex } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { StageMerge, StageUpload } from "./merge_state.ts";
import { askHubToApply, keepStart } from "./merging.ts";
import type { OrchestratorState } from "../state.ts";
import { repeatMerge } from "./uploads.ts";

/** The merge that waits for the hub's outer step. */
export function mergeOfHub(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): StageMerge | null {
  const merge = round === state.round ? state.merge?.stages[stage] : undefined;
  return merge?.phase === "applying" && merge.isHubAsked && merge.refereed === null ? merge : null;
}

/** The upload that waits for the hub to repeat the merge of this round. */
export function uploadOfHub(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): StageUpload | null {
  const upload = round + 1 === state.upload?.round ? state.upload.stages[stage] : undefined;
  return upload?.asked === "hub" && !upload.stored ? upload : null;
}

/** The stage's start, or a replacement for it, is available again. */
export function hubMergesAgain(
  state: OrchestratorState,
  { round, stage, isReplaced }: { round: number; stage: StageIndex; isReplaced: boolean },
): OrchestratorEffect[] {
  const merge = mergeOfHub(state, { round, stage });
  if (merge !== null) {
    if (isReplaced) keepStart(merge);
    return [askHubToApply(state, merge)];
  }
  const upload = uploadOfHub(state, { round, stage });
  if (upload === null || state.upload === null) return [];
  if (isReplaced) upload.slices = [];
  return [repeatMerge(state, { upload: state.upload, stage: upload })];
}
