/**
 * The replicas' answers during a merge, checked and booked. What follows from them is merging.ts's.
 */

import { present } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef, StageIndex } from "../ids.ts";
import type { MergeApplied, MergeFailed, PayloadCommitted, SliceReduced } from "../protocol/message.ts";
import { type OrchestratorEffect, record, reject } from "./event.ts";
import { skipMerge } from "./merging.ts";
import { dropParticipants } from "./reducers.ts";
import type { Member, MergedStage, OrchestratorState, StageMerge } from "./state.ts";

function stageOf(state: OrchestratorState, options: { member: Member; round: number }): StageMerge | null {
  if (state.merge === null || options.round !== state.round) return null;
  const merge = state.merge.stages.find((stage) => stage.participants.includes(options.member.node));
  return merge ?? null;
}

export function onPayloadCommitted(
  state: OrchestratorState,
  options: { member: Member; message: PayloadCommitted },
): OrchestratorEffect[] {
  const { member, message } = options;
  const merge = stageOf(state, { member, round: message.round });
  if (merge === null || merge.phase !== "committing" || !merge.weights.has(member.node)) {
    return reject(member.node, fault("wrongPhase", `Cannot take a payload of round ${message.round} now`));
  }
  const fits = message.slices.length === merge.layout.length &&
    message.slices.every((ref, i) => ref.bytes === 4 * present(merge.layout[i], "same length").size);
  if (!fits) {
    return reject(
      member.node,
      fault("badBlob", "Cannot take a payload as its slices must have the layout of startMerge"),
    );
  }
  merge.payloads.set(member.node, message.slices);
  countUpload(merge, message.slices);
  return [];
}

export function onSliceReduced(
  state: OrchestratorState,
  options: { member: Member; message: SliceReduced },
): OrchestratorEffect[] {
  const { member, message } = options;
  const merge = stageOf(state, { member, round: message.round });
  const slice = merge?.slices[message.slice];
  if (merge === null || merge.phase !== "reducing" || slice === undefined || !slice.asked.includes(member.node)) {
    return reject(member.node, fault("wrongPhase", `Cannot take slice ${message.slice} of round ${message.round} now`));
  }
  countUpload(merge, [message.result]);
  slice.results.set(member.node, message.result);
  return [];
}

export function onSliceRefereed(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; slice: number; result: BlobRef | null; nowMs: number },
): OrchestratorEffect[] {
  const merge = state.merge?.stages[options.stage];
  const slice = merge?.slices[options.slice];
  if (merge === undefined || slice === undefined || options.round !== state.round || merge.phase !== "reducing") {
    return [];
  }
  if (options.result === null) return skipMerge(state, { merge, nowMs: options.nowMs });
  slice.results.set("hub", options.result);
  return [];
}

export function onMergeApplied(
  state: OrchestratorState,
  options: { member: Member; message: MergeApplied },
): OrchestratorEffect[] {
  const { member, message } = options;
  const merge = stageOf(state, { member, round: message.round - 1 });
  if (merge === null || merge.phase !== "applying") {
    return reject(member.node, fault("wrongPhase", `Cannot take the parameters of round ${message.round} now`));
  }
  merge.applied.set(member.node, { parameters: message.parameters, momentum: message.momentum });
  return [];
}

export function onMergeRefereed(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; merged: MergedStage },
): OrchestratorEffect[] {
  const merge = state.merge?.stages[options.stage];
  if (merge === undefined || options.round !== state.round || merge.phase !== "applying") return [];
  merge.refereed = options.merged;
  return [];
}

/** A replica that cannot do its part leaves the merge; the rest goes on. */
export function onMergeFailed(
  state: OrchestratorState,
  options: { member: Member; message: MergeFailed },
): OrchestratorEffect[] {
  const merge = stageOf(state, { member: options.member, round: options.message.round });
  const seen = record({ type: "faultSeen", node: options.member.node, ...options.message.fault });
  if (merge === null) return [seen];
  return [seen, ...dropParticipants(state, { merge, nodes: [options.member.node] })];
}

function countUpload(merge: StageMerge, refs: readonly BlobRef[]): void {
  for (const ref of refs) merge.uploads.bytes += ref.bytes;
}
