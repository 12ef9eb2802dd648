/**
 * The curves of a run besides its losses, one measurement for each closed step: speed, number of ready miners, and
 * bytes over the orchestrator's port per trained token, by kind.
 *
 * Invariant: all of them have the same length and stride, and end with the same step as the losses; they may begin
 * later if an older version wrote the log's first part. Plain data.
 */

import { emptySeries, type Series } from "./series.ts";

/**
 * wires: tasks with their tensors. merge: payloads and reduced slices. parameters: whole stages, and what audits and
 * evaluations read, including repeated tasks' tensors. control: all other messages.
 */
export const byteKinds = ["wires", "merge", "parameters", "control"] as const;
export type ByteKind = typeof byteKinds[number];

export interface CurvesView {
  readonly tokensPerSecond: Series; // from one closed step to the next, merges included
  readonly miners: Series; // ready
  readonly bytesPerToken: Readonly<Record<ByteKind, Series>>; // both ways
  moved: Record<ByteKind, number> | null; // bytes since the last closed step; null: not reported yet
}

export const emptyCurves = (): CurvesView => ({
  tokensPerSecond: emptySeries(),
  miners: emptySeries(),
  bytesPerToken: { wires: emptySeries(), merge: emptySeries(), parameters: emptySeries(), control: emptySeries() },
  moved: null,
});

export const noBytes = (): Record<ByteKind, number> => ({ wires: 0, merge: 0, parameters: 0, control: 0 });
