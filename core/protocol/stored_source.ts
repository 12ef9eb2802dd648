/**
 * Parameters of a stage: those that the run's seed makes, or blobs in the hub's store. Whoever has the parameters of the round
 * before need not fetch them: the merge's slices lead there, and the hash says whether they did.
 */

import type { BlobRef } from "../ids.ts";

export interface InitialSource {
  readonly type: "initial";
}

export interface StoredSource {
  readonly type: "blobs";
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
  readonly merge?: LastMerge; // left out: fetch the parameters
}

/** The outer step that made the parameters, where it is without momentum. */
export interface LastMerge {
  readonly from: string; // name of the parameters before: core/statements/statement.ts
  readonly slices: readonly BlobRef[]; // few
}

export const mostFollowed = 4; // slices that a source names: those of large stages are fetched whole
