/**
 * A merge in progress and the upload that follows it. Plain data.
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
  readonly told: Set<NodeId>; // all ever asked: a replaced one may still read
  readonly results: Map<Reducer, BlobRef>;
  readonly without: Set<NodeId>; // contributors whose payload for it is lost
  accepted: BlobRef | null;
}

export interface MergedStage {
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

/**
 * The unit of voting is the whole result: another momentum makes the next outer step diverge, and a right hash with a
 * wrong size cannot be fetched.
 */
export function voteOf({ parameters, momentum }: MergedStage): string {
  const [first, second] = [parameters, momentum].map((ref) => ref === null ? "none" : `${ref.hash}/${ref.bytes}`);
  return `${first} ${second}`;
}

export function isSameStage(a: MergedStage, b: MergedStage): boolean {
  return voteOf(a) === voteOf(b);
}

/** One blob per slice, in layout order. */
export interface Payload {
  readonly hashes: readonly BlobHash[];
  readonly bytes: readonly number[]; // within what the payload codec allows
}

/** See payloads/commitments.ts. */
export interface Commitment {
  readonly head: string;
  readonly payload: string; // its hash
  readonly signature: string;
  readonly isOurs: boolean; // the orchestrator knows the same head
}

/** See payloads/payload_trails.ts. */
export interface Trail {
  readonly assignment: number; // a miner that reloads starts without a residual
  readonly rounds: number; // with a payload of it
  readonly sketch: readonly number[];
}

export function payloadOf(slices: readonly BlobRef[]): Payload {
  return { hashes: slices.map(({ hash }) => hash), bytes: slices.map(({ bytes }) => bytes) };
}

export function payloadSlice({ hashes, bytes }: Payload, index: number): BlobRef {
  return {
    hash: present(hashes[index], "a payload has every slice"),
    bytes: present(bytes[index], "a payload has every slice"),
  };
}

export function valuesOfSlice(merge: StageMerge, index: number): number {
  return present(merge.layout[index], "a slice has its place").size;
}

export function acceptedSlices({ slices }: StageMerge): BlobRef[] {
  return slices.map(({ accepted }) => present(accepted, "all slices are accepted"));
}

/** Only the result remains to be applied. */
export const isReduced = ({ phase, isStale, openSlices }: StageMerge): boolean =>
  phase === "applying" || phase === "agreed" || (phase === "reducing" && !isStale && openSlices === 0);

export function holdsAgreed(merge: StageMerge, node: NodeId): boolean {
  const shown = merge.applied.get(node);
  return shown !== undefined && isSameStage(shown, present(merge.agreed, "an agreed stage"));
}

export type MergePhase = "committing" | "reducing" | "applying" | "agreed";

export interface StageMerge {
  readonly stage: StageIndex;
  phase: MergePhase;
  readonly replicas: number; // when the merge began
  readonly hadWork: boolean;
  readonly participants: Set<NodeId>; // in slot order
  readonly weights: Map<NodeId, number>; // of nodes whose payload counts, in slot order
  readonly tasks: ReadonlyMap<NodeId, number>; // credited to each contributor in the round
  readonly whole: ReadonlySet<NodeId>; // contributors to nearly all of the round's steps
  isCentral: boolean; // the orchestrator reduces and takes the outer step: reducing.ts
  readonly layout: readonly Slice[];
  readonly payloads: Map<NodeId, Payload>;
  readonly commitments: Map<NodeId, Commitment>;
  readonly checking: Set<NodeId>; // being read
  readonly lengths: Map<NodeId, number>; // payloads/payload_check.ts
  readonly shapes: Map<NodeId, PayloadShape>;
  readonly scales: Map<NodeId, number>; // of those scaled down; 0: left out
  edition: number; // of the reduce requests; rises when payloads change
  isStale: boolean; // a payload was removed from this edition
  slices: SliceWork[];
  openSlices: number;
  readonly unjudged: number[];
  readonly owing: Map<NodeId, number>;
  readonly slow: Set<NodeId>; // reducers that were late
  readonly failures: Map<NodeId, string>;
  lostBecause: string | null; // nothing can be merged: losses/lost_rounds.ts
  readonly doubters: Set<Reducer>; // could not read a blob in this phase
  readonly doubted: Set<NodeId>; // reported a loss that was not found
  readonly showing: Set<NodeId>; // asked for a lost payload again
  readonly shown: Map<NodeId, number>; // how often each was asked
  mend: "looking" | "showing" | null; // what the doubters wait for: mending.ts
  reopened: number; // times that lost results were reduced again
  readonly applied: Map<NodeId, MergedStage>;
  isHubAsked: boolean; // to take the outer step
  isHubUnable: boolean; // the store lost its inputs: a single result must suffice
  refereed: MergedStage | null;
  agreed: MergedStage | null;
  phaseStartedMs: number;
  committedInMs: number | null; // null: not over
  appliedInMs: number | null;
  deadlineMs: number;
  hasQuorum: boolean;
  wholeWeight: number;
  committedWeight: number; // of arrived payloads
  uploadedBytes: number;
}

export interface MergeWork {
  readonly stages: readonly StageMerge[];
  readonly startedMs: number;
  waitsSinceMs: number | null; // for audits, once all is reduced: audit/round_audits.ts
  waitedMs: number; // in earlier waits
}

export interface StageUpload {
  readonly stage: StageIndex;
  merged: MergedStage;
  slices: readonly BlobRef[]; // in case every holder is lost
  holders: NodeId[];
  isHubUnable: boolean; // the store lost the inputs
  /** Agreed unchecked: the upload is checked (believed_upload.ts). */
  isBelieved: boolean;
  asked: Reducer | null;
  deadlineMs: number;
  stored: boolean;
  lost: number; // times that the store lost it before its checkpoint
  lostBecause: string | null; // nobody can store it: losses/lost_rounds.ts
}

export interface UploadWork {
  readonly round: number;
  readonly step: number;
  readonly stages: readonly StageUpload[];
  readonly payloads: readonly BlobHash[]; // and reduced slices, kept until the parameters are stored
  writing: boolean;
}
