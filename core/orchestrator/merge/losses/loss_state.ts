/** The orchestrator's memory of rounds that were lost because a stage had no payload or no parameters. Plain data. */

import type { NodeId } from "../../../ids.ts";

export interface LossState {
  inARow: number; // rounds, since the last one whose parameters were stored
  halt: Halt | null; // the run waits before it repeats the last one
  readonly failed: FailedUpload[]; // whose consequences are open: failed_uploads.ts
  readonly probe: UploadProbe;
}

export interface Halt {
  readonly sinceMs: number;
  untilMs: number; // when to repeat the round
  probeAtMs: number | null; // when to try the public address again; null: it did not refuse the last upload
  readonly text: string;
}

/** An upload that did not arrive: a miner's payload, a reduced slice or merged parameters. */
export interface FailedUpload {
  readonly node: NodeId;
  readonly duty: "committing" | "reducing" | "uploading";
  readonly round: number;
  readonly bytes: number; // the most of an upload for this duty
  didOthers: boolean | null; // a payload of the round arrived; null: not known yet
}

/**
 * This orchestrator's last upload to its own public address: at most one of each size per merge, and one a minute
 * during a halt.
 */
export interface UploadProbe {
  status: "none" | "asked" | "answered";
  bytes: number;
  refusal: string | null; // by the last answer
}

export const newLosses = (): LossState => ({
  inARow: 0,
  halt: null,
  failed: [],
  probe: { status: "none", bytes: 0, refusal: null },
});
