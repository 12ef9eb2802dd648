/**
 * A merge in progress and the upload that follows it. Plain data, plus the comparison of two replicas' results.
 *
 * Invariants: a participant is an active replica of its stage; `owing` counts exactly the pending answers of
 * participants in the current phase; `openSlices` counts the slices without an accepted result.
 */

import { present } from "../../assert.ts";
import type { BlobHash, BlobRef, NodeId, StageIndex } from "../../ids.ts";
import type { PayloadShape } from "../../update/payload_shape.ts";
import type { Slice } from "../../protocol/merge_messages.ts";

export type Reducer = NodeId | "hub";

export interface SliceWork {
  readonly asked: Reducer[];
  readonly told: Set<NodeId>; // all ever asked: a replaced reducer may still be reading
  readonly results: Map<Reducer, BlobRef>;
  readonly without: Set<NodeId>; // contributors whose payload for it is permanently lost
  accepted: BlobRef | null;
}

export interface MergedStage {
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

/**
 * The unit of voting: the whole result. With the right parameters but a different momentum the next outer step diverges, and a
 * right hash with a wrong size cannot be fetched.
 */
export function voteOf({ parameters, momentum }: MergedStage): string {
  const [first, second] = [parameters, momentum].map((ref) => ref === null ? "none" : `${ref.hash}/${ref.bytes}`);
  return `${first} ${second}`;
}

export function isSameStage(a: MergedStage, b: MergedStage): boolean {
  return voteOf(a) === voteOf(b);
}

/** A contributor's committed payload, one blob per slice, in layout order. */
export interface Payload {
  readonly hashes: readonly BlobHash[];
  readonly bytes: readonly number[]; // within what the payload codec allows
}

/** A miner's signed commitment to its payload: payloads/commitments.ts. */
export interface Commitment {
  readonly head: string;
  readonly payload: string; // its hash
  readonly signature: string;
  readonly isOurs: boolean; // the head is the one that the orchestrator knows
}

/** The accumulated sketch of a miner's payloads over several rounds: payloads/payload_trails.ts. */
export interface Trail {
  readonly assignment: number; // a miner that reloads a stage starts without a residual
  readonly rounds: number; // with a payload of it
  readonly sketch: readonly number[];
}

export function payloadOf(slices: readonly BlobRef[]): Payload {
  return { hashes: slices.map(({ hash }) => hash), bytes: slices.map(({ bytes }) => bytes) };
}

/** One slice of a payload. */
export function payloadSlice({ hashes, bytes }: Payload, index: number): BlobRef {
  return {
    hash: present(hashes[index], "a payload has every slice"),
    bytes: present(bytes[index], "a payload has every slice"),
  };
}

/** Number of values in a slice. */
export function valuesOfSlice(merge: StageMerge, index: number): number {
  return present(merge.layout[index], "a slice has its place").size;
}

/** The result of every slice. */
export function acceptedSlices({ slices }: StageMerge): BlobRef[] {
  return slices.map(({ accepted }) => present(accepted, "all slices are accepted"));
}

/** Only the result remains to be applied. */
export const isReduced = ({ phase, isStale, openSlices }: StageMerge): boolean =>
  phase === "applying" || phase === "agreed" || (phase === "reducing" && !isStale && openSlices === 0);

/** Whether the node's result is exactly the agreed one. */
export function holdsAgreed(merge: StageMerge, node: NodeId): boolean {
  const shown = merge.applied.get(node);
  return shown !== undefined && isSameStage(shown, present(merge.agreed, "an agreed stage"));
}

export type MergePhase = "committing" | "reducing" | "applying" | "agreed";

export interface StageMerge {
  readonly stage: StageIndex;
  phase: MergePhase;
  readonly replicas: number; // when the merge began
  readonly hadWork: boolean; // some of them had trained in the round
  readonly participants: Set<NodeId>; // in slot order
  readonly weights: Map<NodeId, number>; // of nodes whose payload counts, in slot order
  readonly tasks: ReadonlyMap<NodeId, number>; // gradient tasks that each contributor was credited for in the round
  readonly whole: ReadonlySet<NodeId>; // contributors with work in nearly all of the round's steps
  isCentral: boolean; // the orchestrator reduces it and takes the outer step itself: reducing.ts
  readonly layout: readonly Slice[];
  readonly payloads: Map<NodeId, Payload>;
  readonly commitments: Map<NodeId, Commitment>; // that came with these
  readonly checking: Set<NodeId>; // nodes whose payload the orchestrator is reading
  readonly lengths: Map<NodeId, number>; // of checked payloads: payloads/payload_check.ts
  readonly shapes: Map<NodeId, PayloadShape>; // of the same
  readonly scales: Map<NodeId, number>; // of payloads that are scaled down; 0: left out
  edition: number; // of the requests to reduce: rises when payloads have changed
  isStale: boolean; // a payload was removed since they were sent
  slices: SliceWork[];
  openSlices: number;
  readonly unjudged: number[]; // slices that gained an answer or lost a reducer
  readonly owing: Map<NodeId, number>;
  readonly slow: Set<NodeId>; // reducers that did not answer in time; not asked again
  readonly failures: Map<NodeId, string>; // why participants could not do their part, in their own words
  lostBecause: string | null; // nothing of the round can be merged here: losses/lost_rounds.ts
  readonly doubters: Set<Reducer>; // could not read a blob in this phase
  readonly doubted: Set<NodeId>; // reported a loss in this phase that the store did not confirm
  readonly showing: Set<NodeId>; // contributors asked to upload a lost payload again
  readonly shown: Map<NodeId, number>; // how often each was asked for it
  mend: "looking" | "showing" | null; // what the doubters wait for: mending.ts
  reopened: number; // times that slices were reduced again because the store had lost the results
  readonly applied: Map<NodeId, MergedStage>;
  isHubAsked: boolean; // to take the outer step itself
  isHubUnable: boolean; // to take it because the store lost its inputs; then a single result must suffice
  refereed: MergedStage | null;
  agreed: MergedStage | null;
  phaseStartedMs: number;
  committedInMs: number | null; // how long that phase took; null: not over
  appliedInMs: number | null;
  deadlineMs: number;
  hasQuorum: boolean; // of this phase: only the grace period is left for the others
  wholeWeight: number; // sum of `weights`
  committedWeight: number; // of nodes whose payload has arrived
  uploadedBytes: number;
}

export interface MergeWork {
  readonly stages: readonly StageMerge[];
  readonly startedMs: number;
  waitsSinceMs: number | null; // for audits, all stages being reduced: audit/round_audits.ts
  waitedMs: number; // before
}

export interface StageUpload {
  readonly stage: StageIndex;
  merged: MergedStage;
  slices: readonly BlobRef[]; // the inputs of the merge, in case every holder is lost
  holders: NodeId[];
  isHubUnable: boolean; // to repeat the merge because the store lost its inputs
  /** Agreed unchecked because the orchestrator could not take the step: it checks the upload (believed_upload.ts). */
  isBelieved: boolean;
  asked: Reducer | null;
  deadlineMs: number; // of the holder that was asked
  stored: boolean;
  lost: number; // times that the store lost it again before its checkpoint was written
  lostBecause: string | null; // nobody can store the round's parameters: losses/lost_rounds.ts
}

/** The new round's parameters on their way from one replica of each stage into the orchestrator's store. */
export interface UploadWork {
  readonly round: number;
  readonly step: number;
  readonly stages: readonly StageUpload[];
  readonly payloads: readonly BlobHash[]; // and reduced slices of the merge, kept until the parameters are stored
  writing: boolean;
}
