/** Messages of a merge, both ways; PROTOCOL_VERSION of message.ts covers them. */

import type { Fault } from "../fault.ts";
import type { BlobRef } from "../ids.ts";

/** In floats of a stage's parameter vector. */
export interface Slice {
  readonly offset: number;
  readonly size: number;
}

/** The slices are in the blob store; their hashes are the commitment. */
export interface PayloadCommitted {
  readonly type: "payloadCommitted";
  readonly round: number;
  readonly slices: readonly BlobRef[];
  readonly payload: string; // hash over those of the slices
  readonly head: string; // over its steps (core/statements/work_chain.ts)
  readonly signature: string;
}

export interface SliceReduced {
  readonly type: "sliceReduced";
  readonly round: number;
  readonly edition: number;
  readonly slice: number;
  readonly result: BlobRef;
}

export interface MergeApplied {
  readonly type: "mergeApplied";
  readonly round: number; // the round that begins
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
}

export interface ParametersUploaded extends Omit<MergeApplied, "type"> {
  readonly type: "parametersUploaded";
}

export interface MergeFailed {
  readonly type: "mergeFailed";
  readonly round: number;
  readonly fault: Fault;
}

export interface StartMerge {
  readonly type: "startMerge";
  readonly round: number; // the ending round
  readonly slices: readonly Slice[];
  readonly contributes: boolean;
}

/** The weighted mean of payloads, each times its scale. */
export interface ReduceSlice {
  readonly type: "reduceSlice";
  readonly round: number;
  readonly edition: number; // grows when the round's payloads change; older requests are void
  readonly slice: number;
  readonly inputs: readonly WeightedPayload[];
}

export interface WeightedPayload {
  readonly payload: BlobRef;
  readonly weight: number;
  readonly scale: number; // at most 1: shortens a payload much longer than the others
}

/** The outer step with these averaged slices; without slices, back to the round's start. */
export interface ApplyMerge {
  readonly type: "applyMerge";
  readonly round: number; // the ending round
  readonly slices: readonly BlobRef[];
}

export interface UploadParameters {
  readonly type: "uploadParameters";
  readonly round: number;
}
