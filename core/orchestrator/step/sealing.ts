/**
 * Sealing: each contributor of the open step confirms a gradient over exactly its accepted tasks.
 *
 * A contributor is asked as soon as hardly more is to come: it has no lease, and its stage few items that wait, or none. So the stages
 * behind the last gradient confirm while the others still work, and with thousands of miners, of whom somebody is always being lost,
 * what was lost is made again by a few while the others have confirmed long since. Who gets another gradient task is asked again.
 *
 * Who is lost after its confirmation is as good as lost right after the step header: its share of the step goes with it, as its
 * shares of the round's earlier steps do, and the tasks stay counted. A stage's last contributor is not spared that way. Who does
 * not confirm within its patience keeps its place, but its tasks are done again by others.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import { type NodeId, stageIndex } from "../../ids.ts";
import type { StepSealed } from "../../protocol/message.ts";
import { setAlarm } from "../alarms.ts";
import { noteFulfilled, noteWithheld } from "../members/blame.ts";
import { type OrchestratorEffect, record, reject, send } from "../event.ts";
import { reissueCredited } from "./taking_back.ts";
import { awaitedUnitMs } from "../members/pace.ts";
import { rosterOf } from "../members/replicas.ts";
import { hasComeBackOften } from "../members/returns.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { noteFault, type StepWork, unitsOf } from "./step_state.ts";
import { isTail } from "./wiring.ts";

const mostSquareSum = 1e90; // no gradient of float32 values has more, and sums of such reports stay finite
const leastPatienceMs = 5000;
const returnMs = 10_000; // longer for one without a link: it may be on its way back

/** Asks every contributor whose part can only change by a loss. */
export function sealIdle(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work } = state;
  if (work === null) return [];
  const effects: OrchestratorEffect[] = [];
  for (const [stage, nodes] of work.idle.entries()) {
    if (nodes.size === 0 || !isTail(state, stageIndex(stage))) continue;
    for (const node of nodes) {
      effects.push(askForSeal(state, { member: present(state.members.get(node), "a contributor"), nowMs }));
    }
    nodes.clear();
  }
  return effects;
}

/** Also repeats a request whose answer may have been lost. */
export function askForSeal(
  state: OrchestratorState,
  { member, nowMs }: { member: Member; nowMs: number },
): OrchestratorEffect {
  const { node, stepTasks } = member;
  const work = present(state.work, "an open step");
  const before = hasComeBackOften(state, member) ? work.asked.get(node) : undefined;
  const lookMs = before?.lookMs ?? nowMs + patienceMs(state, member);
  const request = ++work.seals;
  work.asked.set(node, { request, lookMs, deadlineMs: before?.deadlineMs ?? nowMs + state.config.limits.leaseMs });
  setAlarm(state, { type: "seal", node, atMs: lookMs });
  return send(node, { type: "sealStep", step: state.step, request, tasks: [...stepTasks] });
}

/** Its link was broken: the request may have reached it only now. */
export function renewPatience(state: OrchestratorState, { member, nowMs }: { member: Member; nowMs: number }): void {
  const { work } = state;
  const request = work?.asked.get(member.node);
  if (work === null || request === undefined || work.sealed.has(member.node)) return;
  if (hasComeBackOften(state, member)) return;
  const lookMs = nowMs + patienceMs(state, member);
  const deadlineMs = Math.max(request.deadlineMs, nowMs + state.config.limits.leaseMs);
  work.asked.set(member.node, { ...request, lookMs, deadlineMs });
}

/** As long as it would take to repeat all its tasks, if it has to: by then others could have done them as well. */
function patienceMs(state: OrchestratorState, member: Member): number {
  const { deterministic, limits } = state.config;
  if (deterministic) return limits.leaseMs;
  const roster = rosterOf(state, present(member.stage, "a contributor has a stage"));
  const units = unitsOf("backward") * member.stepTasks.length;
  return Math.min(limits.leaseMs, Math.max(leastPatienceMs, units * awaitedUnitMs(roster, member)));
}

/** What is to be done about a contributor that has not confirmed: nothing yet, its tasks for others, or it is thrown out. */
export type SealAlarm = { readonly effects: OrchestratorEffect[]; readonly isLost: boolean };

export function onSealAlarm(
  state: OrchestratorState,
  { node, nowMs }: { node: NodeId; nowMs: number },
): SealAlarm {
  const nothing = { effects: [], isLost: false };
  const { work } = state;
  const member = state.members.get(node);
  const request = work?.asked.get(node);
  if (work === null || member === undefined || request === undefined || work.sealed.has(node)) return nothing;
  const { lookMs, deadlineMs } = request;
  const later = (atMs: number) => {
    setAlarm(state, { type: "seal", node, atMs });
    return nothing;
  };
  if (lookMs > nowMs) return later(lookMs);
  const isAway = member.graceUntilMs !== null;
  if (isAway && nowMs < lookMs + returnMs) return later(lookMs + returnMs);
  if (mayTakeOver(state, member)) return { effects: takeOver(state, member), isLost: false };
  if (deadlineMs <= nowMs && !isAway) return { effects: [], isLost: true }; // its silence has an alarm of its own
  return later(Math.max(nowMs + leastPatienceMs, deadlineMs));
}

function mayTakeOver(state: OrchestratorState, { stage, graceUntilMs }: Member): boolean {
  const { present: replicas } = rosterOf(state, present(stage, "a contributor has a stage"));
  return !state.config.deterministic && replicas > (graceUntilMs === null ? 1 : 0);
}

function takeOver(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const { node } = member;
  const tasks = [...member.stepTasks];
  if (member.graceUntilMs === null) noteWithheld(state, { node, duty: "confirming" });
  noteFault(present(state.work, "an open step"), { type: "unconfirmed", node, task: null });
  reissueCredited(state, { member, tasks, avoid: node });
  return tasks.map((task) =>
    record({ type: "taskReleased", task, node, reason: "its gradient was not confirmed in time" })
  );
}

export function onStepSealed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: StepSealed },
): OrchestratorEffect[] {
  const { work } = state;
  if (
    work === null || message.step !== state.step || message.request !== work.asked.get(member.node)?.request ||
    message.tasks !== member.stepTasks.length
  ) {
    return []; // an answer to a request that something has changed since; a new one is on its way
  }
  if (!(message.gradientSquareSum >= 0) || !Number.isFinite(message.gradientSquareSum)) {
    const detail =
      `Cannot close step ${state.step} as the gradient norm must be finite: current value is ${message.gradientSquareSum}`;
    return reject(member.node, fault("badNumbers", detail));
  }
  const squareSum = Math.min(message.gradientSquareSum, mostSquareSum);
  work.sealed.set(member.node, { tasks: message.tasks, squareSum });
  noteFulfilled(state, { node: member.node, duty: "confirming" });
  return [];
}

/** Nothing is left to do, and every contributor has confirmed. */
export function isSealed(work: StepWork): boolean {
  return work.left === 0 && work.sealed.size === work.contributors.size;
}

/** A lost member's confirmed tasks stay counted, where its stage has another contributor. Returns how many. */
export function departSealed(state: OrchestratorState, member: Member): number {
  const { node, stage, stepTasks } = member;
  const { work } = state;
  const sealed = work?.sealed.get(node);
  if (work === null || sealed === undefined || stage === null || !hasOtherContributor(state, member)) return 0;
  const items = stepTasks.map((task) => present(work.credited.get(task), "a credited task is in the table"));
  work.departed.push({ ...sealed, node, stage, items });
  work.sealed.delete(node);
  work.asked.delete(node);
  work.contributors.delete(node);
  member.stepTasks = [];
  return items.length;
}

function hasOtherContributor(state: OrchestratorState, member: Member): boolean {
  for (const node of present(state.work, "an open step").contributors) {
    if (node !== member.node && state.members.get(node)?.stage === member.stage) return true;
  }
  return false;
}
