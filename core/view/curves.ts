/**
 * A run's curves, one measurement per closed step: speed, ready miners, bytes per trained token over the orchestrator's
 * port. All have one length and stride and end with the losses; they may begin later after an older version's log.
 */

import { emptySeries, type Series } from "./series.ts";

/** parameters: whole stages, audits and evaluations. merge: payloads and reduced slices. wires: tasks with tensors. */
export const byteKinds = ["wires", "merge", "parameters", "control"] as const;
export type ByteKind = typeof byteKinds[number];

export interface CurvesView {
  readonly tokensPerSecond: Series; // merges included
  readonly miners: Series; // ready
  readonly bytesPerToken: Readonly<Record<ByteKind, Series>>;
  moved: Record<ByteKind, number> | null; // since the last closed step; null: not reported
}

export const emptyCurves = (): CurvesView => ({
  tokensPerSecond: emptySeries(),
  miners: emptySeries(),
  bytesPerToken: { wires: emptySeries(), merge: emptySeries(), parameters: emptySeries(), control: emptySeries() },
  moved: null,
});

export const noBytes = (): Record<ByteKind, number> => ({ wires: 0, merge: 0, parameters: 0, control: 0 });
