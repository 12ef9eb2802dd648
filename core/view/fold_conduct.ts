/** Each node's conduct besides its tasks, in bounded size. Unknown nodes have none. */

import type { ConductView, RunView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const longestCode = 40; // characters

export const newConduct = (): ConductView => ({
  released: 0,
  late: 0,
  outrun: 0,
  faults: 0,
  blamed: 0,
  lastFault: null,
  audits: { passed: 0, failed: 0, last: null },
});

type ConductRecord = RecordOf<"taskReleased" | "mergeLate" | "faultSeen" | "blamed" | "verdict">;

export function noteConduct(view: RunView, record: ConductRecord, atMs: number): void {
  const node = record.type === "verdict" ? record.miner : record.node;
  const conduct = node === null ? undefined : view.nodes[node]?.conduct;
  if (conduct === undefined) return;
  switch (record.type) {
    case "taskReleased":
      conduct.released += 1;
      return;
    case "mergeLate":
      conduct.late += 1;
      return;
    case "faultSeen":
      if (record.code === "staleResult") {
        conduct.outrun += 1;
        return;
      }
      conduct.faults += 1;
      conduct.lastFault = record.code.slice(0, longestCode);
      return;
    case "blamed":
      conduct.blamed += 1;
      conduct.lastFault = record.code.slice(0, longestCode);
      return;
    case "verdict": {
      const { passed, innovationError, tolerance } = record;
      conduct.audits[passed ? "passed" : "failed"] += 1;
      conduct.audits.last = { atMs, passed, error: finite(innovationError), tolerance: finite(tolerance) };
      return;
    }
  }
}

const finite = (value: number): number | null => Number.isFinite(value) ? value : null;
