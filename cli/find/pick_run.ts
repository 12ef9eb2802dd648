/**
 * Which of the announced runs a node takes part in. Pure.
 *
 * One that is asked for by name or key is that one. Otherwise the owner's best counts, and where the owner announces none, the only
 * one; between several that stake alone vouches for a person decides.
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
