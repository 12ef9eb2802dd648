/**
 * The paths of microbatches through the pipeline, in milliseconds. A repeated task replaces the earlier one.
 * fold_pathways.ts chooses which are followed.
 */

import type { Direction, NodeId } from "../ids.ts";
import type { RecordOf } from "./view_record.ts";

export interface PathwayHop {
  readonly node: NodeId;
  readonly stage: number;
  readonly direction: Direction;
  readonly attempt: number;
  readonly sentMs: number; // after the step opened
  readonly tookMs: number; // from lease to result
  readonly computeMs: number; // of these, by the miner's report
}

export interface PathwayView {
  readonly microbatch: number;
  readonly step: number | null; // from 1; null: open
  hops: PathwayHop[]; // as they finished
}

export interface PathwaysView {
  stride: number; // between followed microbatches
  begun: number; // microbatches past the first stage
  open: PathwayView[];
  closed: PathwayView[]; // last closed step
}

export const noPathways = (): PathwaysView => ({ stride: 1, begun: 0, open: [], closed: [] });

/** Null: another version's record, without times. */
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

const attemptsOfLife = 1_000; // numbers restart at a multiple after each rollback (step/wiring.ts)
const isTime = (value: number | undefined): boolean => value !== undefined && Number.isFinite(value) && value >= 0;

export function addHop(pathway: PathwayView, hop: PathwayHop): void {
  const others = pathway.hops.filter(({ stage, direction }) => stage !== hop.stage || direction !== hop.direction);
  pathway.hops = [...others, hop];
}
