/**
 * Where a stage's parameters come from. A node with the last round's parameters can apply the merge's slices instead of
 * fetching.
 */

import type { BlobRef } from "../ids.ts";

export interface InitialSource {
  readonly type: "initial";
}

export interface StoredSource {
  readonly type: "blobs";
  readonly parameters: BlobRef;
  readonly momentum: BlobRef | null;
  readonly merge?: LastMerge;
}

/** The outer step that made the parameters, if it has no momentum. */
interface LastMerge {
  readonly from: string; // previous parameters (core/statements/statement.ts)
  readonly slices: readonly BlobRef[];
}

export const mostFollowed = 4; // slices that a source names; larger stages are fetched whole
