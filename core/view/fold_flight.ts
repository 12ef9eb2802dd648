/**
 * Where the microbatches of the open step are: each waits at the next hop after its last finished task.
 *
 * Invariant: a stage's counts are the hops that name it, so they are never negative.
 */

import type { Hop, RunView, StageView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const maxHops = 2 ** 16; // above what a step may have; what comes beyond is not followed

/** Follows a microbatch from hop to hop; where it waits is what the lanes show as in flight. */
export function moveMicrobatch(view: RunView, { microbatch, stage, direction }: RecordOf<"taskFinished">): void {
  const lane = (hop: Hop | undefined): StageView | undefined => hop === undefined ? undefined : view.stages[hop.stage];
  const before = view.hops[microbatch];
  const from = lane(before);
  if (before !== undefined && from !== undefined) {
    from[before.direction] -= 1;
    delete view.hops[microbatch];
    view.hopCount -= 1;
  }
  const next: Hop = direction === "forward"
    ? { stage: stage + 1, direction: "forward" }
    : { stage: stage - 1, direction: "backward" };
  const to = lane(next);
  if (to === undefined || view.hopCount >= maxHops) return;
  to[next.direction] += 1;
  view.hops[microbatch] = next;
  view.hopCount += 1;
}

export function forgetFlight(view: RunView): void {
  view.hops = {};
  view.hopCount = 0;
  for (const stage of view.stages) Object.assign(stage, { forward: 0, backward: 0 });
}
