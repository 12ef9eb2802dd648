/**
 * The in-flight window: how many tasks a miner may hold, so that its device stays busy while results and new tasks
 * travel. More would wait at the miner, where gradients cannot overtake forwards, and be lost with it. The miner
 * reports its computing time; a false number changes the window, within its limit, and no deadline.
 */

import type { RunConfig } from "../../config/config.ts";
import type { Member } from "../state.ts";

const leastPlaces = 4; // even if no link is slow: the orchestrator may be late
const memory = 0.8; // share of the old value in the running mean
const leastComputeMs = 1; // below that everything is a trip, and the limit decides

/**
 * Books a task that its miner held alone, unless it is a backward: forwards are shorter, and a step begins with them.
 */
export function noteTrip(member: Member, { tookMs, computeMs }: { tookMs: number; computeMs: number }): void {
  const ratio = tookMs / Math.min(Math.max(computeMs, leastComputeMs), Math.max(tookMs, leastComputeMs));
  member.tripMs = member.tripMs === null ? tookMs : memory * member.tripMs + (1 - memory) * tookMs;
  member.tripRatio = member.tripRatio === 0 ? ratio : memory * member.tripRatio + (1 - memory) * ratio;
}

/** Called between two steps. All tasks must also fit what a session may have unacknowledged. */
export function placesFor({ limits, deterministic }: RunConfig, { tripRatio }: Member): number {
  const most = Math.min(
    limits.leasesPerMiner,
    Math.max(leastPlaces, Math.floor(limits.outboxBytes / limits.frameBytes)),
  );
  return Math.min(most, deterministic ? leastPlaces : Math.max(leastPlaces, 1 + Math.ceil(tripRatio)));
}
