/**
 * What a view does not keep and Prometheus asks for: totals since this process began, counted from its records.
 *
 * Invariant: totals only grow, and the tables are bounded: beyond `mostMiners` miners and `mostCodes` fault codes, the rest is
 * counted together under `otherName`.
 */

import { byteKinds, noBytes } from "../../../core/view/curves.ts";
import type { ViewRecord } from "../../../core/view/view_record.ts";

export const mostMiners = 256;
const mostCodes = 64;
export const otherName = "other";

export class RunCounts {
  tokens = 0;
  merges = 0;
  mergeMs = 0;
  blamed = 0;
  warnings = 0;
  stepMs: number | null = null; // of the last step
  gradientNorm: number | null = null; // of the last step
  readonly bytes = noBytes(); // over the port, both ways
  readonly tasks = new Map<string, number>(); // finished, by miner
  readonly faults = new Map<string, number>(); // by code

  add(record: ViewRecord): void {
    switch (record.type) {
      case "stepClosed":
        this.tokens += record.tokens;
        this.stepMs = record.stepMs;
        this.gradientNorm = record.gradientNorm;
        return;
      case "bytesMoved":
        for (const kind of byteKinds) this.bytes[kind] += record[kind];
        return;
      case "taskFinished":
        return addOne(this.tasks, { name: record.node, most: mostMiners });
      case "roundMerged":
        this.merges += 1;
        this.mergeMs += record.mergeMs;
        return;
      case "faultSeen":
        return addOne(this.faults, { name: record.code, most: mostCodes });
      case "blamed":
        this.blamed += 1;
        return;
      case "warning":
        this.warnings += 1;
        return;
    }
  }
}

function addOne(counts: Map<string, number>, { name, most }: { name: string; most: number }): void {
  const key = counts.has(name) || counts.size < most ? name : otherName;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
