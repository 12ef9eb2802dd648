/**
 * Messages of a merge, both ways: part of the protocol of message.ts, whose PROTOCOL_VERSION covers them.
 */

import type { Fault } from "../fault.ts";
import type { BlobRef } from "../ids.ts";

/** A part of a stage's parameter vector in a merge, in floats. */
export interface Slice {
  readonly offset: number;
  readonly size: number;
}

/** The pseudo-gradient's slices are in the blob store; their hashes are the commitment, unknown to others before. */
export interface PayloadCommitted {
  readonly type: "payloadCommitted";
  readonly round: number;
  readonly slices: readonly BlobRef[];
  readonly payload: string; // hash over the slices' hashes
  readonly head: string; // over its steps: core/statements/work_chain.ts
  readonly signature: string; // like `stepSealed`'s
}

export interface SliceReduced {
  readonly type: "sliceReduced";
  readonly round: number;
  readonly edition: number; // of the request this answers
  readonly slice: number;
  readonly result: BlobRef;
}

export interface MergeApplied {
  readonly type: "mergeApplied";
  readonly round: number; // that begins with these
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

export interface ParametersUploaded extends Omit<MergeApplied, "type"> {
  readonly type: "parametersUploaded";
}

/** A phase of the merge failed at this node (missing blob, bad numbers). */
export interface MergeFailed {
  readonly type: "mergeFailed";
  readonly round: number;
  readonly fault: Fault;
}

export interface StartMerge {
  readonly type: "startMerge";
  readonly round: number; // the round that ends
  readonly slices: readonly Slice[];
  readonly contributes: boolean;
}

/** The weighted mean of payloads, each multiplied with its scale first. */
export interface ReduceSlice {
  readonly type: "reduceSlice";
  readonly round: number;
  readonly edition: number; // increases when the round's payloads change; older requests are void
  readonly slice: number;
  readonly inputs: readonly WeightedPayload[];
}

export interface WeightedPayload {
  readonly payload: BlobRef;
  readonly weight: number;
  readonly scale: number; // at most 1: shortens a payload much longer than its peers'
}

/** Take the outer step with these averaged slices; without slices: return to the round's start. */
export interface ApplyMerge {
  readonly type: "applyMerge";
  readonly round: number; // the round that ends
  readonly slices: readonly BlobRef[];
}

export interface UploadParameters {
  readonly type: "uploadParameters";
  readonly round: number;
}
