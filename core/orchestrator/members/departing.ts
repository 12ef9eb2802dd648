/**
 * A miner that asks to leave in the middle of a round. What its replica has learned since the last merge leaves with
 * it. If that is more than what the others learned, the round ends early and the merge takes its payload.
 *
 * Asking is binding: such a miner is dismissed when the round is over, so that it cannot end every round early. An
 * honest one has left by then, and may rejoin.
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
