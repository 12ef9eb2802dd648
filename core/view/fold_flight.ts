/**
 * Where the open step's microbatches are: each waits at the hop after its last finished task. A stage's counts are the
 * hops that name it.
 */

import type { Hop, RunView, StageView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const maxHops = 2 ** 16; // above a step's limit

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

const mostFollowed = 32;

/** Those with the lowest numbers. */
export function followedHops({ hops, hopCount }: RunView): ({ readonly microbatch: number } & Hop)[] {
  const followed: ({ microbatch: number } & Hop)[] = [];
  if (hopCount === 0) return followed;
  for (const key in hops) {
    const microbatch = Number(key);
    const hop = hops[microbatch];
    if (hop === undefined) continue;
    followed.push({ microbatch, stage: hop.stage, direction: hop.direction });
    if (followed.length >= mostFollowed) break;
  }
  return followed;
}
