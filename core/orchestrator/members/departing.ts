/**
 * A miner that asks to leave in the middle of a round.
 *
 * Between two merges each replica trains its own copy of the stage, so what it learned in the open round leaves with it. If that is
 * more than what the replicas that stay have learned, as with a stage's only replica, the round ends with the open step: the merge
 * takes the leaver's payload, and its successor continues from the merged parameters. Any other leaver may go at once: its share
 * of the round is lost, and `tasksLost` of the record `nodeLost` says how much.
 *
 * Invariants: `departing` holds active miners with work in the open round. It decides only when the merge begins; the miner decides
 * how long it stays (core/miner/leaving.ts).
 */

import { type OrchestratorEffect, record, send } from "../event.ts";
import { reach } from "../marks.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { replicasOf } from "./replicas.ts";

export function onAskToLeave(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const { node, stage } = member;
  const endsRound = holdsMost(state, member);
  const isNeeded = endsRound || owesPayload(state, member);
  const answer = send(node, { type: "leaveAnswered", isNeeded });
  if (!endsRound || stage === null || state.departing.has(node)) return [answer];
  reach(state, "leaving: the round ends early");
  state.departing.add(node);
  const { round, step } = state;
  return [answer, record({ type: "roundEndsEarly", round, stage, node, step: state.work === null ? step : step + 1 })];
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
