/**
 * The message budget, so that messages without effect cannot fill the journal. An honest node sends about one message
 * per request; beyond twice that and `freeMessages`, a round's messages are refused unread. Joins are answered by
 * requests, which would allow ever more of them, so they have their own bound.
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

/** Returns a fault if the join is one too many; the node may rejoin in the next round. */
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
