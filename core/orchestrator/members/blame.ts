/**
 * What members answer for: proven faults, duties they withheld, and messages that had to be refused.
 *
 * Owns the standing of each hotkey, which outlives its membership, and what follows from it: a strike, an expulsion, a rest.
 * Refuses to judge: whoever calls `blame` or `convict` has proof, not the word of another member. Invariants: an expelled node
 * is never admitted again; standings without an entry for `roundsRemembered` rounds are forgotten.
 *
 * A strike is a result that no honest program makes (a value that is not finite, a false accusation). One may be a broken
 * device, `mostStrikes` within the remembered rounds end the membership. A lie that is proven by computing ends it at once.
 * A duty that was not done in time may be a slow link: it costs pay, the others do not wait for that node again for a while, and
 * when it repeats, its place goes to another. A merge's duties are one: who withholds another one each round, or every second
 * one, is as unreliable as who withholds always, so one done in time forgives nothing, and every round without a lapse a part.
 */

import type { Fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { Duty, MergeDuty, OrchestratorState, Standing } from "../state.ts";

export const mostStrikes = 3;
export const roundsRemembered = 8;

const mostWithheld = {
  tasks: 6, // in a row: a miner that stands still lets all its leases run out at once
  confirming: 2, // of a gradient; its tasks are done again by others each time
};
const confirmedPardon = 1 / 4; // of such a lapse, for one in time: every second one is too few

const mostLapses = 3; // rounds
const roundPardon = 1 / 4; // of a lapse, for a round without one: one round of six may be bad for ever

const mostRefused = 2048; // messages of one node in a round
const reportedRefusals = 64; // of these; the rest is only counted

function standingOf(state: OrchestratorState, node: NodeId): Standing {
  let standing = state.standings.get(node);
  if (standing === undefined) {
    standing = {
      strikes: 0,
      withheld: { tasks: 0, confirming: 0 },
      lapses: 0,
      lapsedRound: null,
      absentRound: null,
      refused: 0,
      late: 0,
      round: state.round,
      restUntilRound: 0,
      suspectedRound: null,
    };
    state.standings.set(node, standing);
  }
  standing.round = state.round;
  return standing;
}

/** A proven fault, no proven intent: counted, and at last too much. */
export function blame(
  state: OrchestratorState,
  { node, fault: { code, detail } }: { node: NodeId; fault: Fault },
): OrchestratorEffect[] {
  const standing = standingOf(state, node);
  standing.strikes += 1;
  if (standing.strikes >= mostStrikes) {
    convict(state, { node, reason: `${mostStrikes} proven faults, the last: ${detail}` });
  }
  return [record({ type: "blamed", node, code, detail })];
}

/** A proven lie. The node leaves before anything else is done with what it said (expulsion.ts). */
export function convict(state: OrchestratorState, { node, reason }: { node: NodeId; reason: string }): void {
  if (state.expelled.has(node)) return;
  state.expelled.add(node);
  state.convicted.push({ node, reason });
}

// ------------------------------------------------------------------------------------------------- withheld duties

interface DutyOf {
  readonly node: NodeId;
  readonly duty: Duty;
}

/** It owed an answer and let the deadline pass, or has said that none will come. */
export function noteWithheld(state: OrchestratorState, { node, duty }: DutyOf): void {
  const standing = standingOf(state, node);
  if (duty !== "tasks") state.unpaid.add(node); // a task that it did not do is not paid in any case
  if (duty !== "tasks" && duty !== "confirming") return noteLapse(state, node);
  standing.withheld[duty] += 1;
  if (standing.withheld[duty] < mostWithheld[duty]) return;
  standing.withheld[duty] -= 1; // one more sends it to rest again
  sendToRest(state, node);
}

/** However many duties of a round's merge it withheld, it is one lapse. */
function noteLapse(state: OrchestratorState, node: NodeId): void {
  const standing = standingOf(state, node);
  if (standing.lapsedRound === state.round) return;
  standing.lapsedRound = state.round;
  standing.lapses += 1;
  if (standing.lapses < mostLapses) return;
  standing.lapses -= 1;
  sendToRest(state, node);
}

/**
 * It had no link when an answer was due, or was lost while it owed one: bad luck, unless it was the same in another round of late.
 * Then the pay of a whole round would be to be had for work that is in no merge.
 */
export function noteAbsence(state: OrchestratorState, { node, duty }: { node: NodeId; duty: MergeDuty }): void {
  const standing = standingOf(state, node);
  const { absentRound } = standing;
  standing.absentRound = state.round;
  if (absentRound === null || absentRound + roundsRemembered < state.round) return;
  if (absentRound !== state.round) noteWithheld(state, { node, duty });
}

/** Everybody lost its link, by the hub's own fault. */
export function forgetAbsences(state: OrchestratorState): void {
  for (const standing of state.standings.values()) standing.absentRound = null;
}

/** It did the duty in time. Of a merge's duties see `ageStandings`. */
export function noteFulfilled(
  state: OrchestratorState,
  { node, duty }: { node: NodeId; duty: Exclude<Duty, MergeDuty> },
): void {
  const withheld = state.standings.get(node)?.withheld;
  if (withheld === undefined) return;
  withheld[duty] = duty === "tasks" ? 0 : Math.max(0, withheld[duty] - confirmedPardon);
}

/** Whether the others have waited for it in vain and should not again. */
export function isUnreliable(state: OrchestratorState, { node, duty }: DutyOf): boolean {
  const standing = state.standings.get(node);
  if (standing === undefined) return false;
  if (duty === "tasks" || duty === "confirming") return standing.withheld[duty] > 0;
  return standing.lapsedRound !== null && standing.lapsedRound + roundsRemembered >= state.round;
}

/** It loses its place until the rounds that are remembered have passed. */
export function sendToRest(state: OrchestratorState, node: NodeId): void {
  standingOf(state, node).restUntilRound = state.round + roundsRemembered;
  state.resting.push(node);
}

/** Nothing proven, but something out of the ordinary. */
export function suspect(state: OrchestratorState, node: NodeId): void {
  standingOf(state, node).suspectedRound = state.round;
}

export function isSuspect(state: OrchestratorState, { node, since }: { node: NodeId; since: number }): boolean {
  const standing = state.standings.get(node);
  if (standing === undefined) return false;
  return (standing.suspectedRound ?? -1) >= since || (standing.strikes > 0 && standing.round >= since);
}

export function isResting(state: OrchestratorState, node: NodeId): boolean {
  return (state.standings.get(node)?.restUntilRound ?? 0) > state.round;
}

// ----------------------------------------------------------------------------------------------- refused messages

/**
 * Counts a refused message. False: it is one of so many that it is not worth an answer or a record. Late results are not held
 * against anyone: a slow miner has as many as it has leases.
 */
export function noteRefused(
  state: OrchestratorState,
  { node, isLate }: { node: NodeId; isLate: boolean },
): boolean {
  const standing = standingOf(state, node);
  standing.refused += 1;
  if (isLate) standing.late += 1;
  if (standing.refused - standing.late >= mostRefused) {
    convict(state, { node, reason: `it sent ${mostRefused} messages within a round that had to be refused` });
  }
  return standing.refused <= reportedRefusals;
}

/** At the edge of two rounds, when the new one has begun. */
export function ageStandings(state: OrchestratorState): void {
  for (const [node, standing] of state.standings) {
    standing.refused = standing.late = 0;
    if (standing.lapsedRound !== state.round - 1) standing.lapses = Math.max(0, standing.lapses - roundPardon);
    if (standing.round + roundsRemembered < state.round && standing.restUntilRound <= state.round) {
      state.standings.delete(node);
    }
  }
}
