/**
 * The curves of a run besides its losses, one measurement for each closed step: how fast it was, how many miners were ready, and how
 * many bytes crossed the orchestrator's port for each trained token, by kind.
 *
 * Invariant: all of them have the same length and stride, and end with the same step as the losses; they may begin later, where an
 * older version wrote the log's first part. Plain data.
 */

import { emptySeries, type Series } from "./series.ts";

/**
 * wires: tasks with their tensors. merge: payloads and reduced slices. parameters: whole stages, and what audits and evaluations
 * read, repeated tasks' tensors among it. control: all other messages.
 */
export const byteKinds = ["wires", "merge", "parameters", "control"] as const;
export type ByteKind = typeof byteKinds[number];

export interface CurvesView {
  readonly tokensPerSecond: Series; // from one closed step to the next, merges included
  readonly miners: Series; // ready
  readonly bytesPerToken: Readonly<Record<ByteKind, Series>>; // both ways
  moved: Record<ByteKind, number> | null; // bytes since the last closed step; null: nobody has told
}

export const emptyCurves = (): CurvesView => ({
  tokensPerSecond: emptySeries(),
  miners: emptySeries(),
  bytesPerToken: { wires: emptySeries(), merge: emptySeries(), parameters: emptySeries(), control: emptySeries() },
  moved: null,
});

export const noBytes = (): Record<ByteKind, number> => ({ wires: 0, merge: 0, parameters: 0, control: 0 });
