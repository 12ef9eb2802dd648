/**
 * Parameters that a stage adopted unchecked because the store had lost the orchestrator's inputs.
 *
 * They are checked when they are uploaded, before any other node loads them. If they are not finite, the round is
 * repeated. Nobody is blamed, because an honest replica computes such parameters from slices that others spoiled.
 */

import { present } from "../../assert.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { StageUpload, UploadWork } from "./merge_state.ts";
import type { OrchestratorState } from "../state.ts";

export function checkUpload({ round }: UploadWork, upload: StageUpload): OrchestratorEffect {
  const { stage, merged: { parameters, momentum }, asked } = upload;
  upload.deadlineMs = Infinity; // it has done its part
  const vectors = momentum === null ? [parameters] : [parameters, momentum];
  const node = present(asked === "hub" ? null : asked, "an uploader");
  return { type: "checkUpload", round, stage, node, vectors };
}

export function onUploadChecked(
  state: OrchestratorState,
  { round, stage, node, isFinite }: { round: number; stage: StageIndex; node: NodeId; isFinite: boolean | null },
): OrchestratorEffect[] {
  const upload = state.upload?.round === round ? state.upload.stages[stage] : undefined;
  if (upload === undefined || !upload.isBelieved || upload.stored || upload.asked !== node) return [];
  if (isFinite === null) { // reported as uploaded but missing
    upload.holders = upload.holders.filter((holder) => holder !== node);
    upload.asked = null;
    return [];
  }
  if (isFinite) {
    upload.isBelieved = false;
    upload.stored = true;
  } else {
    upload.lostBecause = "the merged parameters that its replicas reported are not finite";
  }
  return [];
}
