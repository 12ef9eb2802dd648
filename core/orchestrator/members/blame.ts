/**
 * What members answer for: proven faults, duties they withheld, and messages that had to be refused.
 *
 * Owns the standing of each hotkey, which outlives its membership, and what follows from it: a strike, an expulsion, a rest.
 * Refuses to judge: whoever calls `blame` or `convict` has proof, not the word of another member. Invariants: an expelled node
 * is never admitted again; standings without an entry for `roundsRemembered` rounds are forgotten.
 *
 * A strike is a result that no honest program makes (a value that is not finite, a false accusation). One may be a broken
 * device, `mostStrikes` within the remembered rounds end the membership. A lie that is proven by computing ends it at once.
 * A duty that was not done in time may be a slow link: it costs pay, the stage does not wait for that node again until it has
 * done one in time, and `mostWithheld` in a row give its place to another for a while.
 */

import type { Fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { Duty, OrchestratorState, Standing } from "../state.ts";

export const mostStrikes = 3;
export const roundsRemembered = 8;

const mostWithheld: Readonly<Record<Duty, number>> = {
  tasks: 6, // a miner that stands still lets all its leases run out at once
  confirming: 2, // of a gradient; its tasks are done again by others each time
  committing: 3,
  reducing: 3,
  applying: 3,
  uploading: 3,
};

const mostRefused = 2048; // messages of one node in a round
const reportedRefusals = 64; // of these; the rest is only counted

function standingOf(state: OrchestratorState, node: NodeId): Standing {
  let standing = state.standings.get(node);
  if (standing === undefined) {
    standing = {
      strikes: 0,
      withheld: {},
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

/** It owed an answer and let the deadline pass. */
export function noteWithheld(state: OrchestratorState, { node, duty }: DutyOf): void {
  const standing = standingOf(state, node);
  const inARow = (standing.withheld[duty] ?? 0) + 1;
  standing.withheld[duty] = inARow;
  if (duty !== "tasks") state.unpaid.add(node); // a task that it did not do is not paid in any case
  if (inARow < mostWithheld[duty]) return;
  standing.withheld[duty] = inARow - 1; // one more sends it to rest again
  sendToRest(state, node);
}

/** It did the duty in time. */
export function noteFulfilled(state: OrchestratorState, { node, duty }: DutyOf): void {
  const standing = state.standings.get(node);
  if (standing !== undefined) delete standing.withheld[duty];
}

/** Whether the others have waited for it in vain and should not again. */
export function isUnreliable(state: OrchestratorState, { node, duty }: DutyOf): boolean {
  return (state.standings.get(node)?.withheld[duty] ?? 0) > 0;
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

/** At the edge of two rounds. */
export function ageStandings(state: OrchestratorState): void {
  for (const [node, standing] of state.standings) {
    standing.refused = standing.late = 0;
    if (standing.round + roundsRemembered < state.round && standing.restUntilRound <= state.round) {
      state.standings.delete(node);
    }
  }
}
