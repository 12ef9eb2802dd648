/**
 * The orchestrator: an event is booked (take_event.ts), deadlines are handled (due.ts), and the run advances
 * (advance.ts).
 */

import type { Machine } from "../protocol/machine.ts";
import { type OrchestratorEffect, type OrchestratorEvent, releaseEffect, send } from "./event.ts";
import { assertInvariants } from "./invariants.ts";
import type { OrchestratorState } from "./state.ts";
import { noteAsked } from "./members/talk.ts";
import { recordUnserved, unservedStages } from "./members/unserved.ts";
import { takeEvent } from "./take_event.ts";
import { nextDeadlineMs, runDue } from "./due.ts";
import { advance } from "./advance.ts";

export const orchestrator: Machine<OrchestratorState, OrchestratorEvent, OrchestratorEffect> = {
  step(state, event, nowMs) {
    if (state.phase === "finished") return afterTheEnd(event);
    const unserved = event.type === "restarted" ? [] : unservedStages(state); // a new process displays the run
    const effects = [...takeEvent(state, event, nowMs), ...runDue(state, nowMs), ...advance(state, nowMs)];
    effects.push(...recordUnserved(state, unserved));
    noteAsked(state, effects);
    return effects;
  },
  nextDeadlineMs,
  assertInvariants,
};

/** Latecomers learn that the run is over; a process started after the end exits at once. */
function afterTheEnd(event: OrchestratorEvent): OrchestratorEffect[] {
  if (event.type === "restarted") return [{ type: "finish", finished: true, reason: "all steps are done" }];
  if (event.type !== "messageReceived") return [];
  const isLate = event.message.type === "join";
  const stop = send(event.node, { type: "stop", finished: true, reason: "the run is over" });
  return isLate ? [...releaseEffect(event.segments), stop] : releaseEffect(event.segments);
}
