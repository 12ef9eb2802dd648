/**
 * Parameters that a stage went on with on a word, as the store had lost what the hub would have checked it with.
 *
 * The hub looks at them when they are uploaded, before anybody else loads them. With values that are not finite nothing can be
 * computed, whoever made them: the stage keeps what the round began with, and its replicas load that. Nobody is blamed, since
 * an honest replica makes such parameters of slices that others have spoiled. Finite ones are taken, as ever.
 */

import { present } from "../../assert.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import type { PayloadStats } from "../../merge/payload_stats.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { replicasOf } from "../members/replicas.ts";
import { benchMember } from "../members/roster_changes.ts";
import { reissueWorkOf } from "../step/leases.ts";
import type { StageUpload, UploadWork } from "./merge_state.ts";
import type { OrchestratorState } from "../state.ts";

export function lookAtUpload({ round }: UploadWork, upload: StageUpload): OrchestratorEffect {
  const { stage, merged: { parameters, momentum }, asked } = upload;
  upload.deadlineMs = Infinity; // it has done its part
  const slices = momentum === null ? [parameters] : [parameters, momentum];
  const node = present(asked === "hub" ? null : asked, "an uploader");
  return { type: "checkPayload", round, stage, node, slices, layout: null };
}

export function onUploadLooked(
  state: OrchestratorState,
  { stage, node, stats }: { stage: StageIndex; node: NodeId; stats: PayloadStats | null },
): OrchestratorEffect[] {
  const upload = state.upload?.stages[stage];
  if (upload === undefined || !upload.isBelieved || upload.stored || upload.asked !== node) return [];
  if (stats === null) { // said to be uploaded, and not there: another is asked
    upload.holders = upload.holders.filter((holder) => holder !== node);
    upload.asked = null;
    return [];
  }
  upload.isBelieved = false;
  if (stats.isFinite) {
    upload.stored = true;
    return [];
  }
  upload.slices = [];
  upload.holders = []; // so the hub makes it, of what the round began with
  upload.asked = null;
  for (const member of [...replicasOf(state, stage)]) {
    reissueWorkOf(state, member);
    benchMember(state, member);
  }
  const text =
    `Stage ${stage} of round ${state.round} cannot go on with what its replicas showed as its values must be ` +
    `finite; it keeps the parameters of the round before`;
  return [record({ type: "warning", text })];
}
