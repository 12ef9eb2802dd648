/** The orchestrator's memory of lost rounds. Plain data. */

import type { NodeId } from "../../../ids.ts";

export interface LossState {
  inARow: number; // rounds, since the last one whose parameters were stored
  halt: Halt | null; // a pause before the last one is repeated
  readonly failed: FailedUpload[]; // not judged yet: failed_uploads.ts
  readonly probe: UploadProbe;
}

interface Halt {
  readonly sinceMs: number;
  untilMs: number;
  probeAtMs: number | null; // null: the address did not refuse the last upload
  readonly text: string;
}

export interface FailedUpload {
  readonly node: NodeId;
  readonly duty: "committing" | "reducing" | "uploading";
  readonly round: number;
  readonly bytes: number; // the most for this duty
  didOthers: boolean | null; // a payload of the round arrived; null: not known yet
}

/** To the orchestrator's own public address: one of each size per merge, one a minute in a halt. */
interface UploadProbe {
  status: "none" | "asked" | "answered";
  bytes: number;
  refusal: string | null;
}

export const newLosses = (): LossState => ({
  inARow: 0,
  halt: null,
  failed: [],
  probe: { status: "none", bytes: 0, refusal: null },
});
