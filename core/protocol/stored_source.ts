/**
 * Parameters of a stage: generated from the run's seed, or blobs in the orchestrator's store. A node with the previous
 * round's parameters need not fetch them: it applies the merge's slices and compares the hash.
 */

import type { BlobRef } from "../ids.ts";

export interface InitialSource {
  readonly type: "initial";
}

export interface StoredSource {
  readonly type: "blobs";
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
  readonly merge?: LastMerge; // absent: fetch the parameters
}

/** The outer step that produced the parameters, if it has no momentum. */
export interface LastMerge {
  readonly from: string; // name of the parameters before: core/statements/statement.ts
  readonly slices: readonly BlobRef[]; // few
}

export const mostFollowed = 4; // slices that a source names: larger stages are fetched whole
