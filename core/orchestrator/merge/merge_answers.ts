/** Checks and books the answers during a merge. The consequences: merging.ts. */

import { present } from "../../assert.ts";
import { type Fault, fault } from "../../fault.ts";
import type { BlobRef, NodeId, StageIndex } from "../../ids.ts";
import { boundsText, isWithin } from "../../update/payload/payload_codec.ts";
import { payloadCodecOf } from "../../update/payload/payload_codecs.ts";
import type { MergeApplied, MergeFailed, PayloadCommitted, SliceReduced } from "../../protocol/merge_messages.ts";
import { isOfAnotherStage } from "../access.ts";
import { type OrchestratorEffect, record, reject } from "../event.ts";
import { blame, noteWithheld } from "../members/blame.ts";
import { onFollowed, onFollowFailed } from "../members/catching_up.ts";
import { commitmentOf } from "./payloads/commitments.ts";
import { noteFailedUpload } from "./losses/failed_uploads.ts";
import { noteQuorum } from "./merge_deadlines.ts";
import { type MergedStage, type MergePhase, payloadOf, type StageMerge, valuesOfSlice } from "./merge_state.ts";
import { failureText, loseStage, unusable } from "./losses/lost_stages.ts";
import { checkPayload } from "./payloads/payload_check.ts";
import { settle } from "./owing.ts";
import { dropParticipants } from "./participants.ts";
import { onParametersFailed } from "./uploads.ts";
import type { Member, OrchestratorState } from "../state.ts";

/** Null: the sender takes no part in it. */
function mergeOf(
  state: OrchestratorState,
  { member, round }: { member: Member; round: number },
): StageMerge | null {
  if (state.merge === null || round !== state.round || member.stage === null) return null;
  const merge = present(state.merge.stages[member.stage], "every stage has a merge");
  return merge.participants.has(member.node) ? merge : null;
}

interface Answer<Message> {
  readonly member: Member;
  readonly message: Message;
  readonly nowMs: number;
}

export function onPayloadCommitted(
  state: OrchestratorState,
  { member, message, nowMs }: Answer<PayloadCommitted>,
): OrchestratorEffect[] {
  const merge = mergeOf(state, { member, round: message.round });
  if (merge?.phase === "reducing" && merge.showing.delete(member.node)) {
    settle(merge, member.node);
    return []; // its check will tell whether it is the same
  }
  if (merge === null || merge.phase !== "committing" || !merge.weights.has(member.node)) {
    return reject(member.node, fault("wrongPhase", `Cannot accept a payload of round ${message.round} now`));
  }
  const codec = payloadCodecOf(state.config);
  const fits = message.slices.length === merge.layout.length &&
    message.slices.every(({ bytes }, i) => isWithin(codec.payloadBytes(valuesOfSlice(merge, i)), bytes));
  if (!fits) {
    return reject(
      member.node,
      fault("badBlob", "The payload's slices do not have the layout of startMerge"),
    );
  }
  if (message.slices.some(({ hash }) => isOfAnotherStage(state, { stage: merge.stage, hash }))) {
    return reject(member.node, claimsOthers("a payload"));
  }
  const { node } = member;
  if (merge.payloads.has(node)) return []; // repeated after a broken link
  merge.payloads.set(node, payloadOf(message.slices));
  merge.commitments.set(node, commitmentOf(member, message));
  merge.checking.add(node);
  merge.committedWeight += present(merge.weights.get(node), "a contributor has a weight");
  settle(merge, node);
  countUpload(merge, message.slices);
  noteQuorum(state, { merge, nowMs });
  return [checkPayload(state, { merge, node })];
}

export function onSliceReduced(
  state: OrchestratorState,
  { member, message, nowMs }: Answer<SliceReduced>,
): OrchestratorEffect[] {
  const merge = mergeOf(state, { member, round: message.round });
  const slice = merge?.slices[message.slice];
  if (merge === null || merge.phase !== "reducing" || slice === undefined || !slice.asked.includes(member.node)) {
    return reject(
      member.node,
      fault("wrongPhase", `Cannot accept slice ${message.slice} of round ${message.round} now`),
    );
  }
  if (slice.results.has(member.node) || message.edition !== merge.edition) return [];
  const bounds = payloadCodecOf(state.config).resultBytes(valuesOfSlice(merge, message.slice));
  if (!isWithin(bounds, message.result.bytes)) { // with the right hash it could win, and nobody could fetch it
    const detail = `Slice ${message.slice} must have ${boundsText(bounds)} bytes, and has ${message.result.bytes}`;
    return [
      ...reject(member.node, fault("badBlob", detail)),
      ...leaveOut(state, { node: member.node, detail }),
      ...dropParticipants(state, { merge, nodes: [member.node], nowMs }),
    ];
  }
  slice.results.set(member.node, message.result);
  settle(merge, member.node);
  countUpload(merge, [message.result]);
  merge.unjudged.push(message.slice);
  return [];
}

export function onSliceRefereed(
  state: OrchestratorState,
  options: {
    round: number;
    edition: number;
    stage: StageIndex;
    slice: number;
    result: BlobRef | null;
    nowMs: number;
  },
): OrchestratorEffect[] {
  const merge = state.merge?.stages[options.stage];
  const slice = merge?.slices[options.slice];
  if (merge === undefined || slice === undefined || options.round !== state.round || merge.phase !== "reducing") {
    return [];
  }
  const { nowMs } = options;
  if (options.edition !== merge.edition) return [];
  // The orchestrator was asked twice.
  if (slice.accepted !== null || slice.results.has("hub") || !slice.asked.includes("hub")) return [];
  if (options.result === null) return loseStage(state, { merge, because: unusable, nowMs });
  slice.results.set("hub", options.result);
  merge.unjudged.push(options.slice);
  return [];
}

export function onMergeApplied(
  state: OrchestratorState,
  { member, message, nowMs }: Answer<MergeApplied>,
): OrchestratorEffect[] {
  if (member.status === "loading") return onFollowed(state, { member, message });
  const merge = mergeOf(state, { member, round: message.round - 1 });
  if (merge === null || merge.phase !== "applying") {
    return reject(member.node, fault("wrongPhase", `Cannot accept the parameters of round ${message.round} now`));
  }
  if (merge.applied.has(member.node)) return [];
  if (isOfAnotherStage(state, { stage: merge.stage, hash: message.parameters.hash })) {
    return [
      ...reject(member.node, claimsOthers("merged parameters")),
      ...leaveOut(state, { node: member.node, detail: claimsOthers("merged parameters").detail }),
      ...dropParticipants(state, { merge, nodes: [member.node], nowMs }),
    ];
  }
  merge.applied.set(member.node, { parameters: message.parameters, momentum: message.momentum });
  settle(merge, member.node);
  noteQuorum(state, { merge, nowMs });
  return [];
}

export function onMergeRefereed(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; slices: readonly BlobRef[]; merged: MergedStage },
): OrchestratorEffect[] {
  const merge = state.merge?.stages[options.stage];
  if (merge === undefined || options.round !== state.round || merge.phase !== "applying") return [];
  if (!merge.isHubAsked) return []; // its inputs were lost: replicas decide
  const { slices } = merge;
  const isOfThese = slices.length === options.slices.length &&
    slices.every(({ accepted }, index) => accepted?.hash === options.slices[index]?.hash);
  if (!isOfThese) return []; // reduced again meanwhile
  merge.refereed = options.merged;
  return [];
}

export function onSliceUnavailable(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): OrchestratorEffect[] {
  const merge = state.merge?.stages[stage];
  if (round === state.round && merge?.phase === "reducing") merge.doubters.add("hub");
  return [];
}

/** A replica that fails leaves the merge and loses half of its pay, unless the store may have lost a blob. */
export function onMergeFailed(
  state: OrchestratorState,
  { member, message, nowMs }: Answer<MergeFailed>,
): OrchestratorEffect[] {
  if (member.status === "loading") return onFollowFailed(state, { member, message });
  const merge = mergeOf(state, { member, round: message.round });
  const { node } = member;
  const { code, detail } = message.fault;
  const isUpload = code === "uploadFailed";
  const seen = record({ type: "faultSeen", node, code, detail });
  if (merge === null) {
    if (isUpload) onParametersFailed(state, { node, round: message.round });
    return [seen];
  }
  if (code === "badBlob" && (merge.phase === "reducing" || merge.phase === "applying")) {
    if (merge.owing.has(node)) merge.doubters.add(node); // otherwise it was asked in another phase
    return [seen];
  }
  merge.failures.set(node, failureText(message.fault));
  const isAccusing = merge.phase === "reducing" && merge.owing.has(node) && !isUpload;
  noteFailure(state, { node, duty: merge.phase, isUpload });
  return [
    seen,
    ...(isAccusing ? blame(state, { node, fault: falseReport(message) }) : []),
    ...dropParticipants(state, { merge, nodes: [node], nowMs }),
  ];
}

function noteFailure(
  state: OrchestratorState,
  { node, duty, isUpload }: { node: NodeId; duty: MergePhase; isUpload: boolean },
): void {
  if (duty === "agreed") return;
  if (duty === "committing" || (duty === "reducing" && isUpload)) noteFailedUpload(state, { node, duty });
  else noteWithheld(state, { node, duty });
}

function leaveOut(
  state: OrchestratorState,
  { node, detail }: { node: NodeId; detail: string },
): OrchestratorEffect[] {
  state.unpaid.add(node);
  return blame(state, { node, fault: fault("badBlob", detail) });
}

function falseReport({ round, fault: { code, detail } }: MergeFailed): Fault {
  return fault(
    code,
    `A slice of round ${round} was refused although the orchestrator had checked its payloads; the reason given: ${detail}`,
  );
}

/** Claiming such a name would grant access to it. */
const claimsOthers = (what: string): Fault =>
  fault("badBlob", `Cannot accept ${what}: its blobs are another stage's parameters`);

function countUpload(merge: StageMerge, refs: readonly BlobRef[]): void {
  for (const ref of refs) merge.uploadedBytes += ref.bytes;
}
