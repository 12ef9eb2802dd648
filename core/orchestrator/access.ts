/**
 * Least access: which stored blobs a node may read, and which names it may claim as its own work. A node reads what its
 * stage, merge or audit needs. Everything else gets the same refusal, stored or not, so an answer reveals nothing and
 * no single miner can copy the whole model.
 *
 * Decided for every request, so it never looks at all members. Invariant: a member's own claim never gives access to
 * another stage's blobs.
 */

import type { BlobHash, NodeId, StageIndex } from "../ids.ts";
import { changeBytes } from "../update/shown_change.ts";
import type { ParameterSource } from "../protocol/message.ts";
import { sourcesOf } from "./audit/audit_requests.ts";
import { isOnPath } from "./members/catching_up.ts";
import type { StageMerge } from "./merge/merge_state.ts";
import type { OrchestratorState, RoundSources } from "./state.ts";

interface BlobRead {
  readonly node: NodeId;
  readonly hash: BlobHash;
}

export function mayRead(state: OrchestratorState, { node, hash }: BlobRead): boolean {
  const member = state.members.get(node);
  if (member === undefined) return false;
  if (member.role === "validator") return isAskedAbout(state, { node, hash });
  if (member.stage === null) return false;
  const merge = state.merge?.stages[member.stage];
  return isStart(state.sources.stages[member.stage], hash) || isOnPath(state, { node, hash }) ||
    (merge?.participants.has(node) === true && isOfMerge(merge, { node, hash }));
}

/** Parameters and outer momentum that the stage is loaded from. */
function isStart(source: ParameterSource | undefined, hash: BlobHash): boolean {
  return source?.type === "blobs" && (source.parameters.hash === hash || source.momentum?.hash === hash);
}

function isOfMerge(merge: StageMerge, { node, hash }: BlobRead): boolean {
  const isApplying = merge.phase === "applying" || merge.phase === "agreed";
  for (const [index, slice] of merge.slices.entries()) {
    if (isApplying && slice.accepted?.hash === hash) return true;
    if (slice.told.has(node) && isPayloadOf(merge, { index, hash })) return true;
  }
  return false;
}

function isPayloadOf(merge: StageMerge, { index, hash }: { index: number; hash: BlobHash }): boolean {
  for (const { hashes } of merge.payloads.values()) if (hashes[index] === hash) return true;
  return false;
}

/** Validators repeat and evaluate without the outer momentum. */
function isAskedAbout(state: OrchestratorState, { node, hash }: BlobRead): boolean {
  const isParameters = (source: ParameterSource | undefined) =>
    source?.type === "blobs" &&
    (source.parameters.hash === hash || (source.merge?.slices.some((slice) => slice.hash === hash) ?? false));
  const { running, runningOf } = state.audit;
  const request = running.get(runningOf.get(node) ?? -1)?.request;
  if (request === undefined) return false;
  if (request.type === "evaluate") return sourcesOf(state, request.round)?.stages.some(isParameters) ?? false;
  if (request.type === "trial") {
    if (request.parameters?.hash === hash) return true;
    return sourcesOf(state, request.round)?.stages.some(isParameters) ?? false;
  }
  const { round, stage, change } = request.replay;
  return change?.hash === hash || isParameters(sourcesOf(state, round)?.stages[stage]);
}

interface MovedBlob extends BlobRead {
  readonly way: "received" | "sent";
  readonly blobBytes: number | null; // null: an upload that did not announce its size
}

/**
 * The purpose of a blob that crosses the orchestrator's port. An upload is recognised by its time, or by its size if
 * the miner was asked to open its parameters. A download may end after its round.
 */
export function blobPurpose(
  { sources, retired, merge, members, audit, stageFloats }: OrchestratorState,
  { node, hash, way, blobBytes }: MovedBlob,
): "merge" | "parameters" {
  if (members.get(node)?.role === "validator") return "parameters";
  if (way === "sent") {
    const isOfRound = ({ stages }: RoundSources) => stages.some((source) => isStart(source, hash));
    return [sources, ...retired].some(isOfRound) ? "parameters" : "merge";
  }
  const isShown = audit.awaited.get(node)?.some(({ stage }) => blobBytes === changeBytes(stageFloats[stage] ?? 0)) ??
    false;
  return merge === null || isShown ? "parameters" : "merge";
}

/** Whether these are another stage's parameters, of the current round, the next one, or one still under audit. */
export function isOfAnotherStage(
  state: OrchestratorState,
  { stage, hash }: { stage: StageIndex; hash: BlobHash },
): boolean {
  const { sources, retired, upload } = state;
  for (const { stages } of [sources, ...retired]) {
    for (const [index, source] of stages.entries()) {
      if (index !== stage && source.type === "blobs" && source.parameters.hash === hash) return true;
    }
  }
  return upload?.stages.some((each) => each.stage !== stage && each.merged.parameters.hash === hash) ?? false;
}
