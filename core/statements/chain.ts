/** A microbatch's chain of 2K - 1 tasks: forwards through K stages, the tail's turnaround, backwards to the head. */

import { assert } from "../assert.ts";
import { type Direction, type StageIndex, stageIndex } from "../ids.ts";

interface ChainLink {
  readonly stage: StageIndex;
  readonly direction: Direction;
}

export const chainLength = (stages: number): number => 2 * stages - 1;

/** Counted from 0. */
export function chainPosition(stages: number, item: { stage: number; direction: Direction }): number {
  if (item.direction === "backward") return 2 * stages - 2 - item.stage;
  return item.stage;
}

export function chainLink(stages: number, position: number): ChainLink {
  assert(position >= 0 && position < chainLength(stages), "the chain has this position");
  return {
    stage: stageIndex(position < stages ? position : 2 * stages - 2 - position),
    direction: position < stages - 1 ? "forward" : position === stages - 1 ? "turnaround" : "backward",
  };
}
