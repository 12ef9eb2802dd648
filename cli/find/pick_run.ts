/**
 * Which of the announced runs a node joins. Pure.
 *
 * A run requested by name or key is taken. Otherwise the owner's best is taken, and if the owner announces none, the
 * only one. If only stake vouches for several, a person must decide.
 */

import type { Announcement } from "./announcements.ts";
import type { Pinned } from "../node/hub_pin.ts";

export type Pick =
  | { readonly type: "found"; readonly announcement: Announcement; readonly others: number }
  | { readonly type: "ambiguous"; readonly runs: readonly Announcement[] }
  | { readonly type: "none" };

export function pickRun(runs: readonly Announcement[], wanted: Pinned): Pick {
  const fitting = runs.filter(({ invite }) =>
    (wanted.run === null || invite.run === wanted.run) && (wanted.hub === null || invite.hub === wanted.hub)
  );
  const [best] = fitting;
  if (best === undefined) return { type: "none" };
  if (best.by === "stake" && fitting.length > 1) return { type: "ambiguous", runs: fitting };
  return { type: "found", announcement: best, others: fitting.length - 1 };
}
