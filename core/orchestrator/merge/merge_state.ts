/**
 * A merge under way and the upload that follows it. Plain data, and when two replicas have made the same of it.
 *
 * Invariants: a participant is an active replica of its stage; `owing` counts exactly the answers that participants still owe
 * in the present phase; `openSlices` counts the slices without an accepted result.
 */

import { present } from "../../assert.ts";
import type { BlobHash, BlobRef, NodeId, StageIndex } from "../../ids.ts";
import type { Slice } from "../../protocol/message.ts";

export type Reducer = NodeId | "hub";

export interface SliceWork {
  readonly asked: Reducer[];
  readonly told: Set<NodeId>; // ever asked: who is replaced may still be reading
  readonly results: Map<Reducer, BlobRef>;
  readonly without: Set<NodeId>; // contributors whose payload of it is lost for good
  accepted: BlobRef | null;
}

export interface MergedStage {
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

/**
 * What counts as one vote: the whole result. With right parameters and another momentum the next outer step goes elsewhere, and
 * a right hash of another size cannot be fetched.
 */
export function voteOf({ parameters, momentum }: MergedStage): string {
  const [first, second] = [parameters, momentum].map((ref) => ref === null ? "none" : `${ref.hash}/${ref.bytes}`);
  return `${first} ${second}`;
}

export function isSameStage(a: MergedStage, b: MergedStage): boolean {
  return voteOf(a) === voteOf(b);
}

/** What a contributor has committed, a slice each, in the order of the layout. */
export interface Payload {
  readonly hashes: readonly BlobHash[];
  readonly bytes: readonly number[]; // within what the payload codec allows
}

export function payloadOf(slices: readonly BlobRef[]): Payload {
  return { hashes: slices.map(({ hash }) => hash), bytes: slices.map(({ bytes }) => bytes) };
}

/** One slice of it. */
export function payloadSlice({ hashes, bytes }: Payload, index: number): BlobRef {
  return {
    hash: present(hashes[index], "a payload has every slice"),
    bytes: present(bytes[index], "a payload has every slice"),
  };
}

/** How many values a slice stands for. */
export function valuesOfSlice(merge: StageMerge, index: number): number {
  return present(merge.layout[index], "a slice has its place").size;
}

/** Whether the node has shown exactly what was agreed on. */
export function holdsAgreed(merge: StageMerge, node: NodeId): boolean {
  const shown = merge.applied.get(node);
  return shown !== undefined && isSameStage(shown, present(merge.agreed, "an agreed stage"));
}

export type MergePhase = "committing" | "reducing" | "applying" | "agreed";

export interface StageMerge {
  readonly stage: StageIndex;
  phase: MergePhase;
  readonly replicas: number; // when it began
  readonly participants: Set<NodeId>; // in slot order
  readonly weights: Map<NodeId, number>; // of those whose payload counts, in slot order
  readonly layout: readonly Slice[];
  readonly payloads: Map<NodeId, Payload>;
  readonly checking: Set<NodeId>; // whose payload the hub reads
  readonly lengths: Map<NodeId, number>; // of checked payloads: payload_check.ts
  readonly scales: Map<NodeId, number>; // of those that are scaled down
  edition: number; // of the requests to reduce: rises when payloads have changed
  isStale: boolean; // a payload has gone since they were sent
  slices: SliceWork[];
  openSlices: number;
  readonly unjudged: number[]; // slices that got an answer or lost a reducer
  readonly owing: Map<NodeId, number>;
  readonly slow: Set<NodeId>; // reducers that did not answer in time; not asked again
  readonly doubters: Set<Reducer>; // could not read a blob in this phase
  readonly doubted: Set<NodeId>; // had doubts in this phase that the store did not confirm
  readonly showing: Set<NodeId>; // contributors that owe a lost payload
  readonly shown: Map<NodeId, number>; // how often they were asked for it
  mend: "looking" | "showing" | null; // what the doubters wait for: mending.ts
  readonly applied: Map<NodeId, MergedStage>;
  isHubAsked: boolean; // to take the outer step itself
  isHubUnable: boolean; // to take it, as the store lost what it needs; then one word must do
  refereed: MergedStage | null;
  agreed: MergedStage | null;
  phaseStartedMs: number;
  deadlineMs: number;
  hasQuorum: boolean; // of this phase: the rest has only the grace left
  wholeWeight: number; // sum of `weights`
  committedWeight: number; // of those whose payload is there
  uploadedBytes: number;
}

export interface MergeWork {
  readonly stages: readonly StageMerge[];
  readonly startedMs: number;
}

export interface StageUpload {
  readonly stage: StageIndex;
  merged: MergedStage;
  slices: readonly BlobRef[]; // what made it, should every holder be lost
  holders: NodeId[];
  isHubUnable: boolean; // to repeat the merge, as the store lost what it needs
  isBelieved: boolean; // agreed on as the hub could not take the step: it looks at what is uploaded (believed_upload.ts)
  asked: Reducer | null;
  deadlineMs: number; // of the one that was asked
  stored: boolean;
}

/** The new round's parameters on their way from one replica of each stage into the hub's store. */
export interface UploadWork {
  readonly round: number;
  readonly step: number;
  readonly stages: readonly StageUpload[];
  readonly payloads: readonly BlobHash[]; // and reduced slices of the merge, kept until the parameters are stored
  writing: boolean;
}
