/**
 * How long a member may take to load its stage: as long as it reports progress, because a large stage over a slow link
 * takes an hour. Each step forward counts once, and there are three parts of 101 percentages, so a dishonest member
 * runs out as well.
 */

import { present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { type Loading, loadingParts } from "../../protocol/message.ts";
import { setAlarm } from "../alarms.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { noteStuckLoad } from "./blame.ts";
import type { Member, OrchestratorState } from "../state.ts";

const patience = 2; // times mergePhaseMs, without progress

export function awaitLoading(state: OrchestratorState, { member, nowMs }: { member: Member; nowMs: number }): void {
  member.loadedTo = -1;
  member.loadUntilMs = member.loadLateMs = nowMs + patience * state.config.limits.mergePhaseMs;
  const { node, assignment, loadUntilMs: atMs } = member;
  setAlarm(state, { type: "loading", node, assignment, atMs });
}

export function onLoading(
  state: OrchestratorState,
  { member, message, nowMs }: { member: Member; message: Loading; nowMs: number },
): OrchestratorEffect[] {
  const { part, percent, assignment } = message;
  const reached = 101 * loadingParts.indexOf(part) + percent;
  if (member.status !== "loading" || assignment !== member.assignment || reached <= member.loadedTo) return [];
  member.loadedTo = reached;
  member.loadUntilMs = nowMs + patience * state.config.limits.mergePhaseMs; // checked when the alarm rings
  const stage = present(member.stage, "a loading member has a stage");
  return [record({ type: "nodeLoading", node: member.node, stage, part, percent })];
}

/** True if the member made no progress and must go; with progress it gets a new alarm. */
export function onLoadingAlarm(
  state: OrchestratorState,
  { node, assignment, nowMs }: { node: NodeId; assignment: number; nowMs: number },
): boolean {
  const member = state.members.get(node);
  if (member?.status !== "loading" || member.assignment !== assignment) return false;
  const path = present(state.catchingUp.get(node), "a loading member has a path");
  if (path.held !== null && !path.isAsked) return false; // it waits for the run
  if (member.loadUntilMs <= nowMs) {
    noteStuckLoad(state, node);
    return true;
  }
  setAlarm(state, { type: "loading", node, assignment, atMs: member.loadUntilMs });
  return false;
}
