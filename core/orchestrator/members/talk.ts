/**
 * The message budget: how much a node may send relative to what it was asked, so that messages without effect cannot
 * fill the journal.
 *
 * Many messages are legitimately ignored: an answer that crosses a cancellation, a late progress report. An honest node
 * sends about one message per request, whatever becomes of it; an assignment may be followed by a report for each
 * percent of loading. Beyond twice that and `freeMessages`, a round's messages are refused unread; blame.ts counts
 * refusals and ends the membership of a node that persists. Joins are answered by a welcome and an assignment, which
 * would allow ever more of them: they have a bound of their own, and one too many ends the session.
 */

import { type Fault, fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { loadingParts } from "../../protocol/message.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import type { Talk } from "./standing.ts";

const freeMessages = 1024; // in a round
const perRequest = 2;
const mostJoins = 128; // in a round: a link that fails for longer than the grace every few minutes
const perAssignment = perRequest * (1 + 101 * loadingParts.length);

function talkOf(state: OrchestratorState, node: NodeId): Talk {
  let talk = state.talk.get(node);
  if (talk === undefined) state.talk.set(node, talk = { asked: 0, heard: 0, joins: 0 });
  return talk;
}

/** Counts a message of the node; returns a fault if it exceeds the budget. */
export function noteHeard(state: OrchestratorState, { node, nowMs }: { node: NodeId; nowMs: number }): Fault | null {
  if (state.members.has(node)) state.hearing.lastMs = nowMs;
  const talk = talkOf(state, node);
  talk.heard += 1;
  const most = freeMessages + talk.asked;
  if (talk.heard <= most) return null;
  return fault(
    "limitExceeded",
    `This node has sent more than ${most} messages in this round, more than its requests can need`,
  );
}

/** Counts a join; returns a fault if it is one too many, after which the node may rejoin in the next round. */
export function noteJoined(state: OrchestratorState, node: NodeId): Fault | null {
  const talk = talkOf(state, node);
  talk.joins += 1;
  if (talk.joins <= mostJoins) return null;
  return fault(
    "limitExceeded",
    `This node has joined ${mostJoins} times in this round, the most allowed; try again later`,
  );
}

export function noteAsked(state: OrchestratorState, effects: readonly OrchestratorEffect[]): void {
  for (const effect of effects) {
    if (effect.type !== "send" || effect.message.type === "reject") continue;
    talkOf(state, effect.to).asked += effect.message.type === "assign" ? perAssignment : perRequest;
  }
}
