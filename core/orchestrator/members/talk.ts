/**
 * How much a node says against how much it was asked, so that messages which change nothing cannot fill the journal.
 *
 * Many messages are legitimately ignored: an answer crosses a cancellation, a late report of progress. An honest node says about
 * one thing for each that it was asked, whatever became of it. Beyond `freeMessages` and twice what it was asked, a round's
 * messages are refused unread, and refusals are counted by blame.ts, which ends the membership of whoever goes on.
 */

import { type Fault, fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import type { OrchestratorState, Talk } from "../state.ts";

const freeMessages = 1024; // in a round: joins, progress of loading
const perRequest = 2;

function talkOf(state: OrchestratorState, node: NodeId): Talk {
  let talk = state.talk.get(node);
  if (talk === undefined) state.talk.set(node, talk = { asked: 0, heard: 0 });
  return talk;
}

/** Counts a message of the node; the fault when it is one too many. */
export function noteHeard(state: OrchestratorState, node: NodeId): Fault | null {
  const talk = talkOf(state, node);
  talk.heard += 1;
  const most = freeMessages + perRequest * talk.asked;
  if (talk.heard <= most) return null;
  return fault(
    "limitExceeded",
    `Cannot take more than ${most} messages in a round in which this node was sent ${talk.asked}`,
  );
}

export function noteAsked(state: OrchestratorState, effects: readonly OrchestratorEffect[]): void {
  for (const effect of effects) {
    if (effect.type === "send" && effect.message.type !== "reject") talkOf(state, effect.to).asked += 1;
  }
}
