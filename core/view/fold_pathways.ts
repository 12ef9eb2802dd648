/**
 * The paths of some microbatches through the open and the last closed step, evenly over the step's data: at most
 * `mostPathways`, fewer in a long pipeline.
 */

import { addHop, hopOf, type PathwaysView } from "./pathways.ts";
import type { RunView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const mostPathways = 8;
const mostHops = 64; // of all; one pathway is always followed

export function noteHop(view: RunView, record: RecordOf<"taskFinished">): void {
  const { pathways, stages } = view;
  const { microbatch, stage, direction } = record;
  const hop = hopOf(record);
  if (hop === null || stages[stage] === undefined) return;
  if (stage === 0 && direction !== "backward") pathways.begun += 1;
  if (microbatch % pathways.stride !== 0) return;
  let pathway = pathways.open.find((each) => each.microbatch === microbatch);
  if (pathway === undefined) {
    if (pathways.open.length >= followed(view)) return;
    pathway = { microbatch, step: null, hops: [] };
    pathways.open.push(pathway);
  }
  addHop(pathway, hop);
}

export function closePathways({ pathways, stages }: RunView, step: number): void {
  const { open, begun } = pathways;
  pathways.closed = open.map(({ microbatch, hops }) => ({ microbatch, step, hops }));
  pathways.stride = Math.max(1, Math.ceil(begun / followed({ stages })));
  forgetOpenPathways(pathways);
}

export function forgetOpenPathways(pathways: PathwaysView): void {
  pathways.open = [];
  pathways.begun = 0;
}

const followed = ({ stages }: Pick<RunView, "stages">): number =>
  Math.max(1, Math.min(mostPathways, Math.floor(mostHops / (2 * stages.length - 1))));
