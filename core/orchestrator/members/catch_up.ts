/** A loading member's path from the parameters it was told to load to the run's current ones. */

import type { BlobHash, BlobRef } from "../../ids.ts";
import type { ParameterSource } from "../../protocol/message.ts";
import type { MergedStage } from "../merge/merge_state.ts";

export interface CatchUp {
  readonly base: ParameterSource;
  readonly merges: { readonly merged: MergedStage; readonly slices: readonly BlobRef[] }[]; // oldest first
  held: BlobHash | null; // parameters on its device; null: still loading the base
  hasEmptyOptimizer: boolean;
  isAsked: boolean; // to apply the oldest merge
  isTold: boolean; // that it is behind
}

export const newCatchUp = (base: ParameterSource): CatchUp => ({
  base,
  merges: [],
  held: null,
  hasEmptyOptimizer: false,
  isAsked: false,
  isTold: false,
});

/** The blobs that the store keeps for the member. */
export function blobsOfPath({ base, merges, held }: CatchUp): BlobRef[] {
  const slices = merges.flatMap((merge) => merge.slices);
  if (held !== null || base.type === "initial") return slices;
  return base.momentum === null ? [base.parameters, ...slices] : [base.parameters, base.momentum, ...slices];
}
