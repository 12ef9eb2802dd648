/**
 * Members' responsibility: proven faults, missed deadlines, and refused messages.
 *
 * Owns the standing of each hotkey, which outlives its membership, and the consequences: a strike, a ban, a suspension.
 * Out of scope: judging; callers of `blame` and `convict` have proof, not another member's word. Invariants: a banned
 * node is never admitted again; standings without an entry for `roundsRemembered` rounds are forgotten.
 *
 * A strike is a result that no honest program makes (a non-finite value, a false accusation). One may come from a
 * broken device; `mostStrikes` within the remembered rounds end the membership. A lie proven by computation ends it at
 * once. A missed deadline may be due to a slow link: it costs pay, the others do not wait for that node for a while,
 * and on repetition its place goes to another. A merge's deadlines count as one: a node that misses a different one
 * each round, or one every second round, is as unreliable as one that misses all. So meeting one deadline forgives
 * nothing, and each round without a miss forgives a part.
 */

import type { Fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { notify } from "./notices.ts";
import type { Duty, MergeDuty, Standing } from "./standing.ts";
import type { OrchestratorState } from "../state.ts";

export const mostStrikes = 3;
export const roundsRemembered = 8;

const mostWithheld = {
  tasks: 6, // in a row: a stalled miner lets all its leases expire at once
  confirming: 2, // of a gradient; others redo its tasks each time
};
const confirmedPardon = 1 / 4; // of such a miss, for each deadline met: committing every second gradient is too few

const mostLapses = 3; // rounds
const unpaidLapses = 2; // otherwise work that is in no merge would earn half for as long as the node keeps its place
const roundPardon = 1 / 4; // of a miss, for a round without one: one bad round in six is tolerated indefinitely

const mostRefused = 2048; // messages of one node in a round
const reportedRefusals = 64; // of these; the rest are only counted

function standingOf(state: OrchestratorState, node: NodeId): Standing {
  let standing = state.standings.get(node);
  if (standing === undefined) {
    standing = {
      strikes: 0,
      struckRound: null,
      withheld: { tasks: 0, confirming: 0 },
      lapses: 0,
      lapsedRound: null,
      absentRound: null,
      refused: 0,
      late: 0,
      round: state.round,
      restUntilRound: 0,
      suspectedRound: null,
      vainRound: null,
    };
    state.standings.set(node, standing);
  }
  standing.round = state.round;
  return standing;
}

/** Counts a proven fault without proven intent; too many end the membership. */
export function blame(
  state: OrchestratorState,
  { node, fault: { code, detail } }: { node: NodeId; fault: Fault },
): OrchestratorEffect[] {
  const standing = standingOf(state, node);
  standing.strikes += 1;
  standing.struckRound = state.round;
  if (standing.strikes >= mostStrikes) {
    convict(state, { node, reason: `${mostStrikes} proven faults, the last: ${detail}` });
  }
  return [record({ type: "blamed", node, code, detail })];
}

/** Records a proven lie. The node leaves before anything else from it is used (expulsion.ts). */
export function convict(state: OrchestratorState, { node, reason }: { node: NodeId; reason: string }): void {
  if (state.expelled.has(node)) return;
  state.expelled.add(node);
  state.convicted.push({ node, reason });
}

// ------------------------------------------------------------------------------------------------- missed deadlines

interface DutyOf {
  readonly node: NodeId;
  readonly duty: Duty;
}

/** The member let the deadline of a pending answer pass, or said that none will come. `ofRound`: the answer's round. */
export function noteWithheld(
  state: OrchestratorState,
  { node, duty, ofRound = state.round }: DutyOf & { readonly ofRound?: number },
): void {
  const standing = standingOf(state, node);
  if (duty !== "tasks") noteUnpaid(state, { node, duty, ofRound }); // an undone task is unpaid anyway
  if (duty !== "tasks" && duty !== "confirming") return noteLapse(state, { node, duty });
  standing.withheld[duty] += 1;
  if (standing.withheld[duty] < mostWithheld[duty]) return;
  standing.withheld[duty] -= 1; // one more missed deadline suspends it again
  sendToRest(state, node);
}

/** Half of the round's pay is lost: audit/work_report.ts. */
export function noteUnpaid(
  state: OrchestratorState,
  { node, duty, ofRound }: { node: NodeId; duty: Exclude<Duty, "tasks">; ofRound: number },
): void {
  if (!state.unpaid.has(node)) notify(state, node, { type: "notice", about: "withheld", duty, round: ofRound });
  state.unpaid.add(node);
}

const tasksOfLoad = mostWithheld.tasks / 2; // a load without progress weighs as much: the second in a row costs the place

/**
 * The member answered heartbeats but made no progress with its stage, so it delivers nothing. It may join again at
 * once, because a link may have been slow; the next time its place goes to others, instead of being kept for it in
 * every round.
 */
export function noteStuckLoad(state: OrchestratorState, node: NodeId): void {
  for (let i = 0; i < tasksOfLoad; i++) noteWithheld(state, { node, duty: "tasks" });
}

/** Unopened parameters hide whatever was done with them: twice in a few rounds costs the place, and for longer. */
const hidden = { lapses: 2, rests: 2 };
const usual = { lapses: 1, rests: 1 };

/** Of all deadlines missed in one round's merge only the first counts. */
function noteLapse(state: OrchestratorState, { node, duty }: { node: NodeId; duty: MergeDuty }): void {
  const { lapses, rests } = duty === "showing" ? hidden : usual;
  const standing = standingOf(state, node);
  if (standing.lapsedRound === state.round) return;
  standing.lapsedRound = state.round;
  standing.lapses += lapses;
  if (standing.lapses >= unpaidLapses) state.roundUnits.delete(node); // a first one costs half: audit/work_report.ts
  if (standing.lapses < mostLapses) return;
  standing.lapses -= 1;
  sendToRest(state, node, rests);
}

/**
 * The member was disconnected when an answer was due, or was lost with a pending answer or with gradients that only it
 * could bring into the merge. That is bad luck unless it also happened in another recent round: otherwise work that is
 * in no merge would earn a whole round's pay.
 */
export function noteAbsence(
  state: OrchestratorState,
  { node, duty }: { node: NodeId; duty: Exclude<Duty, "tasks"> },
): void {
  const standing = standingOf(state, node);
  const { absentRound } = standing;
  standing.absentRound = state.round;
  if (absentRound === null || absentRound + roundsRemembered < state.round) return;
  if (absentRound !== state.round) noteWithheld(state, { node, duty });
}

/**
 * The member is gone, and with it its gradients of the open round, which no merge will have. If it has worked here for
 * a while it keeps the pay the first time, because the work was done and any machine may fail. If that were so each
 * time, or for newcomers, leaving before every merge would earn as much as taking part, at least for hotkeys that take
 * turns. So a node that does it again, is new, or has missed another deadline in the round loses this pay; it counts as
 * missing its payload, and three such rounds cost the place. A move or bench by the orchestrator does not count,
 * because the orchestrator takes the gradients away itself, nor does leaving after the payload was committed.
 */
export function noteLostGradients(
  state: OrchestratorState,
  { node, isExcusable }: { node: NodeId; isExcusable: boolean },
): void {
  const note = isExcusable ? noteAbsence : noteWithheld;
  note(state, { node, duty: "committing" });
  // The open step is left out when it closes: outcomes.ts.
  if (state.unpaid.has(node)) state.roundUnits.delete(node);
}

/** All members lost their links because of the orchestrator. */
export function forgetAbsences(state: OrchestratorState): void {
  for (const standing of state.standings.values()) standing.absentRound = null;
}

/** The member met the deadline. For a merge's deadlines see `ageStandings`. */
export function noteFulfilled(
  state: OrchestratorState,
  { node, duty }: { node: NodeId; duty: Exclude<Duty, MergeDuty> },
): void {
  const withheld = state.standings.get(node)?.withheld;
  if (withheld === undefined) return;
  withheld[duty] = duty === "tasks" ? 0 : Math.max(0, withheld[duty] - confirmedPardon);
}

/** Whether others have waited for this member in vain and should not wait again. */
export function isUnreliable(state: OrchestratorState, { node, duty }: DutyOf): boolean {
  const standing = state.standings.get(node);
  if (standing === undefined) return false;
  if (duty === "tasks" || duty === "confirming") return standing.withheld[duty] > 0;
  return standing.lapsedRound !== null && standing.lapsedRound + roundsRemembered >= state.round;
}

/** Whether it has missed a merge deadline that it has not made up for since. */
export function hasLapsed({ standings }: OrchestratorState, node: NodeId): boolean {
  return (standings.get(node)?.lapses ?? 0) > 0;
}

/** Suspends the member until the remembered rounds have passed this many times. */
export function sendToRest(state: OrchestratorState, node: NodeId, times = 1): void {
  standingOf(state, node).restUntilRound = state.round + times * roundsRemembered;
  state.resting.push(node);
  notifyOfRest(state, node);
}

/** Also on its return, because its owner may have restarted it. */
export function notifyOfRest(state: OrchestratorState, node: NodeId): void {
  const untilRound = state.standings.get(node)?.restUntilRound ?? 0;
  if (untilRound > state.round) notify(state, node, { type: "notice", about: "rest", untilRound });
}

/** Records unusual behaviour that proves nothing. */
export function suspect(state: OrchestratorState, node: NodeId): void {
  standingOf(state, node).suspectedRound = state.round;
}

/** Its contradiction had a microbatch recomputed, with the same result. */
export function noteVainClaim(state: OrchestratorState, node: NodeId): void {
  standingOf(state, node).vainRound = state.round;
}

/** The round of the last one; null: none is remembered. */
export const lastVainClaim = ({ standings }: OrchestratorState, node: NodeId): number | null =>
  standings.get(node)?.vainRound ?? null;

export function isSuspect(state: OrchestratorState, { node, since }: { node: NodeId; since: number }): boolean {
  const standing = state.standings.get(node);
  if (standing === undefined) return false;
  return Math.max(standing.suspectedRound ?? -1, standing.struckRound ?? -1) >= since;
}

export function isResting(state: OrchestratorState, node: NodeId): boolean {
  return (state.standings.get(node)?.restUntilRound ?? 0) > state.round;
}

// ----------------------------------------------------------------------------------------------- refused messages

/**
 * Counts a refused message. False if there have been too many to answer or record. Late results are not held against a
 * miner: a slow one has as many as it has leases.
 */
export function noteRefused(
  state: OrchestratorState,
  { node, isLate }: { node: NodeId; isLate: boolean },
): boolean {
  const standing = standingOf(state, node);
  standing.refused += 1;
  if (isLate) standing.late += 1;
  if (standing.refused - standing.late >= mostRefused) {
    convict(state, { node, reason: `${mostRefused} of its messages were refused within a round` });
  }
  return standing.refused <= reportedRefusals;
}

/** Called between two rounds, when the new one has begun. */
export function ageStandings(state: OrchestratorState): void {
  for (const [node, standing] of state.standings) {
    standing.refused = standing.late = 0;
    const isHere = standing.restUntilRound <= state.round;
    if (isHere && standing.lapsedRound !== state.round - 1) {
      standing.lapses = Math.max(0, standing.lapses - roundPardon);
    }
    if (standing.struckRound !== null && standing.struckRound + roundsRemembered < state.round) {
      standing.strikes = 0;
      standing.struckRound = null;
    }
    const since = Math.max(standing.round, standing.restUntilRound);
    if (since + roundsRemembered < state.round) state.standings.delete(node);
  }
}
