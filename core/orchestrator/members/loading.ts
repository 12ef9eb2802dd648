/**
 * How long a member may take to load its stage: as long as it gets on. A large stage over a slow line takes an hour, and a miner
 * that says nothing new for `patience` is given up.
 *
 * What it says of itself is not believed beyond this: each step forward buys it one more patience and counts once, and there are
 * three parts of 101 percents, so whoever lies is gone at last too. A stage that has nobody else does not wait for it longer than
 * one patience (rebalance.ts).
 */

import { present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { type Loading, loadingParts } from "../../protocol/message.ts";
import { setAlarm } from "../alarms.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { Member, OrchestratorState } from "../state.ts";

const patience = 2; // times mergePhaseMs, without progress

/** It has just been told what to load. */
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
  member.loadUntilMs = nowMs + patience * state.config.limits.mergePhaseMs; // the alarm looks at it when it rings
  const stage = present(member.stage, "a loading member has a stage");
  return [record({ type: "nodeLoading", node: member.node, stage, part, percent })];
}

/** Whether this assignment's alarm rings for a member that has not got on; one that has gets a new alarm. */
export function isStuckLoading(
  state: OrchestratorState,
  { node, assignment, nowMs }: { node: NodeId; assignment: number; nowMs: number },
): boolean {
  const member = state.members.get(node);
  if (member?.status !== "loading" || member.assignment !== assignment) return false;
  if (member.loadUntilMs <= nowMs) return true;
  setAlarm(state, { type: "loading", node, assignment, atMs: member.loadUntilMs });
  return false;
}
