/** Folds finished tasks into their miner's pace. */

import type { OpenPace, PaceView } from "./pace.ts";
import type { NodeView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const window = 32; // tasks
const longestMs = 2 ** 40; // a damaged log may say more

export function notePace(node: NodeView, { tookMs, computeMs }: RecordOf<"taskFinished">): void {
  if (!isTime(tookMs) || !isTime(computeMs)) return; // written by another version
  const computed = Math.min(computeMs, tookMs);
  const awayMs = tookMs - computed;
  const open = node.openPace ??= { tasks: 0, tookMs: 0, computeMs: 0, leastAwayMs: awayMs };
  open.tasks += 1;
  open.tookMs += tookMs;
  open.computeMs += computed;
  open.leastAwayMs = Math.min(open.leastAwayMs, awayMs);
  if (open.tasks < window && node.pace !== null) return;
  node.pace = paceOf(open);
  if (open.tasks >= window) node.openPace = null;
}

const paceOf = ({ tasks, tookMs, computeMs, leastAwayMs }: OpenPace): PaceView => ({
  tookMs: Math.round(tookMs / tasks),
  computeMs: Math.round(computeMs / tasks),
  leastAwayMs: Math.round(leastAwayMs),
});

const isTime = (value: number | undefined): value is number => value !== undefined && value >= 0 && value <= longestMs;
