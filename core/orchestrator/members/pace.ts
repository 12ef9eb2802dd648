/**
 * How fast replicas work: the time of a forward, measured between a replica's results, never self-reported; and each
 * stage's sum of speeds, kept up to date because every newcomer needs it.
 */

import { present } from "../../assert.ts";
import type { Member, OrchestratorState, StageRoster } from "../state.ts";

const memory = 0.8; // share of the old value in a running mean
const steadyMemory = 0.95; // a task's time varies by a third, this mean by 5 %
const leastForwardMs = 1e-3; // below that all count as equally fast
const mostForwardMs = 3_600_000; // above that all count as equally slow

export function measure(
  state: OrchestratorState,
  member: Member,
  { forwards, leasedMs, nowMs }: { forwards: number; leasedMs: number; nowMs: number },
): void {
  const roster = present(
    state.rosters[present(member.stage, "a member with results has a stage")],
    "every stage has a roster",
  );
  const forwardMs = (nowMs - Math.max(leasedMs, member.lastResultMs)) / forwards;
  member.lastResultMs = nowMs;
  member.results += 1;
  const { forwardMs: recent, steadyMs: steady, results } = member;
  setPace(roster, {
    member,
    forwardMs: recent === null ? forwardMs : memory * recent + (1 - memory) * forwardMs,
    steadyMs: steady === null ? forwardMs : steady + (forwardMs - steady) * Math.max(1 - steadyMemory, 1 / results),
  });
  roster.forwardMs = roster.forwardMs === null ? forwardMs : 0.98 * roster.forwardMs + 0.02 * forwardMs;
}

/** The member failed a task: it counts as half as fast, and no faster than the time it was given. */
export function distrustPace(
  state: OrchestratorState,
  member: Member,
  { forwards, leasedMs, nowMs }: { forwards: number; leasedMs: number; nowMs: number },
): void {
  const roster = present(
    state.rosters[present(member.stage, "a member with leases has a stage")],
    "every stage has a roster",
  );
  const forwardMs = Math.min(mostForwardMs, Math.max(2 * forwardMsOf(roster, member), (nowMs - leasedMs) / forwards));
  setPace(roster, { member, forwardMs, steadyMs: Math.max(member.steadyMs ?? 0, forwardMs) });
}

/** Another replica was faster: this one took at least that long, with all its leased work. */
export function noteOvertaken(
  state: OrchestratorState,
  member: Member,
  { forwards, leasedMs, nowMs }: { forwards: number; leasedMs: number; nowMs: number },
): void {
  const roster = present(
    state.rosters[present(member.stage, "a member with leases has a stage")],
    "every stage has a roster",
  );
  const least = (nowMs - Math.max(leasedMs, member.lastResultMs)) / (forwards + member.leasedForwards);
  if (member.forwardMs === null || least <= member.forwardMs) return;
  setPace(roster, { member, forwardMs: Math.min(mostForwardMs, least), steadyMs: member.steadyMs ?? least });
}

const mostSlower = 4; // times the stage's median: the longest that any replica is waited for

/**
 * The pace that others wait for. It is bounded, because a member could stretch every step by being slower each time and
 * never late.
 */
export function awaitedForwardMs(roster: StageRoster, member: Member): number {
  const own = forwardMsOf(roster, member);
  return roster.medianMs === null ? own : Math.min(own, mostSlower * roster.medianMs);
}

/** Called between two steps. */
export function noteMedians(roster: StageRoster): void {
  roster.medianMs = medianOf(roster.members.map(({ steadyMs }) => steadyMs));
  roster.medianTripMs = medianOf(roster.members.map(({ tripMs }) => tripMs));
}

/** Of the measured times; for an even count, the faster of the middle two. */
function medianOf(times: readonly (number | null)[]): number | null {
  const measured = times.flatMap((ms) => ms === null ? [] : [ms]).sort((a, b) => a - b);
  return measured[(measured.length - 1) >> 1] ?? null;
}

const usualTrips = 10; // a busy machine, a slow link or a lost packet makes one trip several times as long as most
const leastPatienceMs = 100; // below that the orchestrator's own machine is late
const mostPatienceMs = 1000;

/**
 * The least time for a task before another replica gets it too. Where steps take a fraction of a second, a constant
 * second would let one silent replica hold up each step several times over.
 */
export function shortestPatienceMs({ medianTripMs }: StageRoster): number {
  if (medianTripMs === null) return mostPatienceMs;
  return Math.min(mostPatienceMs, Math.max(leastPatienceMs, usualTrips * medianTripMs));
}

export function forwardMsOf(roster: StageRoster, member: Member): number {
  return Math.max(leastForwardMs, member.forwardMs ?? roster.forwardMs ?? 1);
}

/** The pace over many results, for a stage's capacity. */
export function steadyMsOf(roster: StageRoster, member: Member): number {
  return Math.max(leastForwardMs, member.steadyMs ?? roster.forwardMs ?? 1);
}

/** An active replica is added (1) or removed (-1). */
export function countPace(roster: StageRoster, { member, by }: { member: Member; by: 1 | -1 }): void {
  if (member.steadyMs === null) return;
  roster.pace.measured += by;
  roster.pace.forwardsPerMs += by / steadyMsOf(roster, member);
  if (roster.pace.measured === 0) roster.pace.forwardsPerMs = 0;
}

/** Recomputes the sum, so that rounding errors do not accumulate. */
export function recountPace(roster: StageRoster): void {
  roster.pace.measured = 0;
  roster.pace.forwardsPerMs = 0;
  for (const member of roster.members) countPace(roster, { member, by: 1 });
}

function setPace(
  roster: StageRoster,
  { member, forwardMs, steadyMs }: { member: Member; forwardMs: number; steadyMs: number },
): void {
  const isCounted = member.status === "active";
  if (isCounted) countPace(roster, { member, by: -1 });
  member.forwardMs = forwardMs;
  member.steadyMs = steadyMs;
  if (isCounted) countPace(roster, { member, by: 1 });
}
