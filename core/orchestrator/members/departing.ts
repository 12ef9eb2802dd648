/**
 * A miner that asks to leave in the middle of a round.
 *
 * Between two merges each replica trains its own copy of the stage, so what it learned in the open round leaves with
 * it. If that is more than what the remaining replicas have learned, as with a stage's only replica, the round ends
 * with the open step: the merge takes the leaver's payload, and its successor continues from the merged parameters. Any
 * other leaver may go at once: its share of the round is lost, and `tasksLost` of the record `nodeLost` says how much.
 *
 * Asking is binding: a miner for which the round ends early is dismissed when that round is over, as soon as it has
 * opened what was drawn of it. Otherwise it could end every round early. It may rejoin like any newcomer; an honest one
 * has left by then (core/miner/leaving.ts).
 */

import { fault } from "../../fault.ts";
import { owesStates } from "../audit/shown_states.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { reach } from "../marks.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { replicasOf } from "./replicas.ts";
import { onDismissed } from "./roster.ts";

export function onAskToLeave(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const { node, stage } = member;
  const asked = state.departing.get(node);
  const endsRound = asked === undefined ? holdsMost(state, member) : asked === state.round;
  const isNeeded = endsRound || owesPayload(state, member);
  const answer = send(node, { type: "leaveAnswered", isNeeded });
  if (!endsRound || stage === null || asked !== undefined) return [answer];
  reach(state, "leaving: the round ends early");
  const { round, step } = state;
  state.departing.set(node, round);
  return [answer, record({ type: "roundEndsEarly", round, stage, node, step: state.work === null ? step : step + 1 })];
}

export function dismissDeparted(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const [node, round] of [...state.departing]) {
    if (round === state.round || owesStates(state, node)) continue;
    const over = fault("staleResult", `This miner asked to leave in round ${round}, which is over; it may join again`);
    effects.push(...onDismissed(state, { node, fault: over, reason: "it asked to leave", nowMs }));
  }
  return effects;
}

/** Gradient tasks of the open round that only this replica's parameters hold. */
const workOf = ({ roundTasks, stepTasks }: Member): number => roundTasks + stepTasks.length;

function holdsMost(state: OrchestratorState, member: Member): boolean {
  const { departing, phase } = state;
  if (phase !== "training" || member.status !== "active" || member.stage === null) return false;
  const staying = replicasOf(state, member.stage).filter((other) =>
    other !== member && other.graceUntilMs === null && !departing.has(other.node)
  );
  return workOf(member) > staying.reduce((sum, other) => sum + workOf(other), 0);
}

/** The merge that has begun still lacks its payload. */
function owesPayload({ merge }: OrchestratorState, { node, stage }: Member): boolean {
  const ofStage = stage === null ? undefined : merge?.stages[stage];
  return ofStage?.phase === "committing" && ofStage.weights.has(node) && !ofStage.payloads.has(node);
}
