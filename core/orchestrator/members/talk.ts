/**
 * Limits how much a node says relative to how much it was asked, so that messages without effect cannot fill the journal.
 *
 * Many messages are legitimately ignored: an answer that crosses a cancellation, a late progress report. An honest node sends
 * about one message per request, whatever becomes of it; an assignment may be followed by a report for each percent of loading.
 * Beyond twice that and `freeMessages`, a round's messages are refused unread; blame.ts counts refusals and ends the membership
 * of a node that persists.
 */

import { type Fault, fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { loadingParts } from "../../protocol/message.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { OrchestratorState, Talk } from "../state.ts";

const freeMessages = 1024; // in a round
const perRequest = 2;
const perAssignment = perRequest * (1 + 101 * loadingParts.length);

function talkOf(state: OrchestratorState, node: NodeId): Talk {
  let talk = state.talk.get(node);
  if (talk === undefined) state.talk.set(node, talk = { asked: 0, heard: 0 });
  return talk;
}

/** Counts a message of the node; returns a fault if it is one too many. */
export function noteHeard(state: OrchestratorState, node: NodeId): Fault | null {
  const talk = talkOf(state, node);
  talk.heard += 1;
  const most = freeMessages + talk.asked;
  if (talk.heard <= most) return null;
  return fault(
    "limitExceeded",
    `Cannot accept more than ${most} messages in this round, which is more than what this node was asked can need`,
  );
}

export function noteAsked(state: OrchestratorState, effects: readonly OrchestratorEffect[]): void {
  for (const effect of effects) {
    if (effect.type !== "send" || effect.message.type === "reject") continue;
    talkOf(state, effect.to).asked += effect.message.type === "assign" ? perAssignment : perRequest;
  }
}
