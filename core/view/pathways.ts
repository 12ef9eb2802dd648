/**
 * The paths of microbatches through the pipeline: which miner did each task, when it was sent, and how long that took.
 *
 * Owns: the shape, and how a finished task is added. Plain data. Times are milliseconds. Invariant: a pathway holds a
 * stage's task in a direction once; a repeated task replaces the earlier one. Out of scope: which are followed
 * (fold_pathways.ts).
 */

import type { Direction, NodeId } from "../ids.ts";
import type { RecordOf } from "./view_record.ts";

/** A finished task of a microbatch. */
export interface PathwayHop {
  readonly node: NodeId;
  readonly stage: number;
  readonly direction: Direction;
  readonly attempt: number; // 0: the first
  readonly sentMs: number; // after the step was opened
  readonly tookMs: number; // from sending it to its result
  readonly computeMs: number; // of these, on the device, as reported by the miner
}

export interface PathwayView {
  readonly microbatch: number;
  readonly step: number | null; // in which it counted, from 1; null: that step is open
  hops: PathwayHop[]; // in the order in which they finished
}

export interface PathwaysView {
  stride: number; // of the followed microbatches
  begun: number; // microbatches of the open step that have passed the first stage
  open: PathwayView[];
  closed: PathwayView[]; // of the last closed step
}

export const noPathways = (): PathwaysView => ({ stride: 1, begun: 0, open: [], closed: [] });

/** Null if another version wrote the record, without times. */
export function hopOf(
  { node, stage, direction, task, sentMs, tookMs, computeMs }: RecordOf<"taskFinished">,
): PathwayHop | null {
  if (![sentMs, tookMs, computeMs].every(isTime)) return null;
  const attempt = Number(task.split(".")[3]) % attemptsOfLife;
  return {
    ...{ node, stage, direction },
    attempt: Number.isSafeInteger(attempt) ? attempt : 0,
    sentMs: sentMs!,
    tookMs: tookMs!,
    computeMs: Math.min(computeMs!, tookMs!),
  };
}

const attemptsOfLife = 1_000; // an item's numbers begin at a multiple of it after each rollback (step/wiring.ts)
const isTime = (value: number | undefined): boolean => value !== undefined && Number.isFinite(value) && value >= 0;

export function addHop(pathway: PathwayView, hop: PathwayHop): void {
  const others = pathway.hops.filter(({ stage, direction }) => stage !== hop.stage || direction !== hop.direction);
  pathway.hops = [...others, hop];
}
