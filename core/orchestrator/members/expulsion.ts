/**
 * Carries out the decisions of blame.ts: banned nodes leave the run with their units and payloads, suspended members
 * lose their places. Scores of earlier rounds belong to the validators, which learn of a ban by the next work report.
 */

import { fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { reissueWorkOf } from "../step/leases.ts";
import { dropParticipants } from "../merge/participants.ts";
import { loseNode } from "./roster.ts";
import { setStage } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { OrchestratorState } from "../state.ts";

export function expelConvicted(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (let next = state.convicted.shift(); next !== undefined; next = state.convicted.shift()) {
    const { node, reason } = next;
    state.roundUnits.delete(node);
    state.forfeits.delete(node); // a ban takes more
    for (const { units } of state.reports) units.delete(node);
    effects.push({ type: "disconnect", node, fault: fault("notAdmitted", reason) });
    if (state.members.has(node)) effects.push(...loseNode(state, { node, reason, nowMs, expelled: true }));
    else effects.push(record({ type: "nodeLost", node, reason, tasksReissued: 0, tasksKept: 0, expelled: true }));
  }
  return effects;
}

/** They stay members, and get a stage again after the suspension or if no other member is available. */
export function restWithholders(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (let node = state.resting.shift(); node !== undefined; node = state.resting.shift()) {
    effects.push(...rest(state, { node, nowMs }));
  }
  return effects;
}

function rest(
  state: OrchestratorState,
  { node, nowMs }: { node: NodeId; nowMs: number },
): OrchestratorEffect[] {
  const member = state.members.get(node);
  if (member === undefined || member.stage === null) return [];
  const merge = state.merge?.stages.find((stage) => stage.participants.has(node));
  const untilRound = state.standings.get(node)?.restUntilRound ?? state.round;
  const text = `${node} loses its place in stage ${member.stage} until round ${untilRound}`;
  reissueWorkOf(state, member);
  if (merge === undefined) benchMember(state, member);
  const dropped = merge === undefined ? [] : dropParticipants(state, { merge, nodes: [node], nowMs });
  setStage(state, member, null);
  return [record({ type: "warning", text }), ...dropped];
}
