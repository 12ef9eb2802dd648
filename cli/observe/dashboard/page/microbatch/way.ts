/** A microbatch's tasks in pipeline order, with the wait before each. Pure. */

import type { PublicPathway } from "../../../public/public_shape.ts";

type PathwayHop = PublicPathway["hops"][number];

export interface WayHop extends PathwayHop {
  readonly waitedMs: number; // for a miner
}

const places = { forward: 0, turnaround: 1, backward: 2 } as const;

export function wayOf({ hops }: PublicPathway): WayHop[] {
  const ordered = [...hops].sort((a, b) =>
    places[a.direction] - places[b.direction] || (a.direction === "backward" ? b.stage - a.stage : a.stage - b.stage)
  );
  let readyMs = 0;
  return ordered.map((hop) => {
    const waitedMs = Math.max(0, hop.sentMs - readyMs);
    readyMs = hop.sentMs + hop.tookMs;
    return { ...hop, waitedMs };
  });
}

export const endMs = (way: readonly WayHop[]): number =>
  Math.max(0, ...way.map(({ sentMs, tookMs }) => sentMs + tookMs));

export function slowestOf(pathways: readonly PublicPathway[]): PublicPathway | null {
  const spanOf = (pathway: PublicPathway) => endMs(wayOf(pathway)) - Math.min(...pathway.hops.map((hop) => hop.sentMs));
  return pathways.reduce<PublicPathway | null>(
    (slowest, each) => slowest === null || spanOf(each) > spanOf(slowest) ? each : slowest,
    null,
  );
}
