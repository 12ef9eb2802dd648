/**
 * Repeats a merge's outer step once its starting point is available again.
 *
 * Without the stage's own parameters the slices are a difference from something nobody has: the replacement continues.
 */

import type { StageIndex } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { StageMerge } from "./merge_state.ts";
import { askHubToApply, keepStart } from "./merging.ts";
import type { OrchestratorState } from "../state.ts";
import { repeatMerge, uploadOfHub } from "./uploads.ts";

/** The merge that waits for the orchestrator's outer step. */
export function mergeOfHub(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): StageMerge | null {
  const merge = round === state.round ? state.merge?.stages[stage] : undefined;
  return merge?.phase === "applying" && merge.isHubAsked && merge.refereed === null ? merge : null;
}

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
  if (upload === null) return [];
  if (isReplaced) upload.slices = [];
  return [repeatMerge(state, upload)];
}
