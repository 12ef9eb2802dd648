/**
 * Gradient commitments: each contributor of the open step commits to a gradient over exactly its accepted tasks.
 *
 * It is asked as soon as little more can come: with the last gradient task it is likely to get (asking_ahead.ts), or
 * when it has no lease and few items of its stage wait. After another gradient task it is asked again.
 *
 * A miner lost after its commitment counts as lost after the step header: its gradient is lost, the tasks stay counted,
 * unless it was the stage's last contributor. One that does not commit within its patience keeps its place, but others
 * redo its tasks.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import { type NodeId, stageIndex } from "../../ids.ts";
import type { StepSealed } from "../../protocol/message.ts";
import { setAlarm } from "../alarms.ts";
import { noteFulfilled, noteWithheld } from "../members/blame.ts";
import { type OrchestratorEffect, record, reject, send } from "../event.ts";
import { reissueCredited } from "./taking_back.ts";
import { awaitedForwardMs } from "../members/pace.ts";
import { rosterOf } from "../members/replicas.ts";
import { hasComeBackOften } from "../members/returns.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { mostSquareSum } from "../../score/gradient_verdict.ts";
import { askAhead, takeAskedAhead } from "./asking_ahead.ts";
import { receiptOf, rootDelivered, tasksDelivered } from "./receipts.ts";
import { forwardsOf, openWork, type StepWork } from "./step_state.ts";
import { isTail } from "./wiring.ts";

const leastPatienceMs = 5000;
const deafMs = leastPatienceMs / 2;
const mostPutOffs = 3; // in a round
const returnMs = 10_000; // more for a disconnected one

/** Called when nothing more can be leased. */
export function requestSeals(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  return [...askAhead(state), ...sealIdle(state, nowMs)];
}

/** Asks contributors whose part can change only through a loss. */
function sealIdle(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work } = state;
  if (work === null) return [];
  const effects: OrchestratorEffect[] = [];
  for (const [stage, nodes] of work.idle.entries()) {
    if (nodes.size === 0) continue;
    const isOver = isTail(state, stageIndex(stage));
    for (const node of [...nodes]) {
      const member = present(state.members.get(node), "a contributor");
      const request = takeAskedAhead(state, member);
      if (request === null && !isOver) continue;
      nodes.delete(node);
      if (request === null) effects.push(askForSeal(state, { member, nowMs }));
      else awaitSeal(state, { member, request, nowMs });
    }
  }
  return effects;
}

/** Also repeats a request whose answer may have been lost. */
export function askForSeal(
  state: OrchestratorState,
  { member, nowMs }: { member: Member; nowMs: number },
): OrchestratorEffect {
  const request = ++openWork(state).seals;
  const delivered = tasksDelivered(state, member);
  awaitSeal(state, { member, request, nowMs });
  const { round, step } = state;
  return send(member.node, { type: "sealStep", round, step, request, tasks: [...member.stepTasks], delivered });
}

/** From now on its answer counts, and has a deadline. */
function awaitSeal(
  state: OrchestratorState,
  { member, request, nowMs }: { member: Member; request: number; nowMs: number },
): void {
  const { node } = member;
  const work = openWork(state);
  const before = hasComeBackOften(state, member) ? work.asked.get(node) : undefined;
  const lookMs = before?.lookMs ?? nowMs + patienceMs(state, member);
  const deadlineMs = before?.deadlineMs ?? nowMs + state.config.limits.leaseMs;
  work.asked.set(node, { request, root: rootDelivered(state, member), lookMs, deadlineMs });
  setAlarm(state, { type: "seal", node, atMs: lookMs });
}

/** After a broken link the request may only just have reached it. */
export function renewPatience(state: OrchestratorState, { member, nowMs }: { member: Member; nowMs: number }): void {
  const { work } = state;
  const request = work?.asked.get(member.node);
  if (work === null || request === undefined || work.sealed.has(member.node)) return;
  if (hasComeBackOften(state, member)) return;
  const lookMs = nowMs + patienceMs(state, member);
  const deadlineMs = Math.max(request.deadlineMs, nowMs + state.config.limits.leaseMs);
  work.asked.set(member.node, { ...request, lookMs, deadlineMs });
}

/** The time to repeat all its tasks, as others could. A device may still compute a gradient that does not count. */
function patienceMs(state: OrchestratorState, member: Member): number {
  const { deterministic, limits } = state.config;
  if (deterministic) return limits.leaseMs;
  const roster = rosterOf(state, present(member.stage, "a contributor has a stage"));
  const inVain = state.work?.uncounted.has(member.node) === true ? 1 : 0;
  const forwards = forwardsOf("backward") * (member.stepTasks.length + inVain);
  return Math.min(limits.leaseMs, Math.max(leastPatienceMs, forwards * awaitedForwardMs(roster, member)));
}

/** `isLost`: the contributor must be removed. */
type SealAlarm = { readonly effects: OrchestratorEffect[]; readonly isLost: boolean };

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
  if (mayPutOff(state, work, nowMs)) return later(putOff(state, { member, work, nowMs }));
  const isAway = member.graceUntilMs !== null;
  if (isAway && nowMs < lookMs + returnMs) return later(lookMs + returnMs);
  if (mayTakeOver(state, member)) return { effects: takeOver(state, member), isLost: false };
  if (deadlineMs <= nowMs && !isAway) return { effects: [], isLost: true }; // its silence has its own alarm
  return later(Math.max(nowMs + leastPatienceMs, deadlineMs));
}

/**
 * If several answers are pending and no member has been heard for long, the orchestrator may be unable to receive.
 * Limited, so that colluding members cannot use it to be late.
 */
function mayPutOff({ hearing }: OrchestratorState, { asked, sealed }: StepWork, nowMs: number): boolean {
  const isDeaf = nowMs - (hearing.lastMs ?? nowMs) >= deafMs;
  return isDeaf && hearing.putOffs < mostPutOffs && asked.size > sealed.size + 1;
}

/** Everyone with a pending answer gets as long as this member. Returns when that is over. */
function putOff(
  state: OrchestratorState,
  { member, work, nowMs }: { member: Member; work: StepWork; nowMs: number },
): number {
  const againMs = nowMs + patienceMs(state, member);
  state.hearing.putOffs += 1;
  for (const [node, request] of work.asked) {
    if (!work.sealed.has(node)) work.asked.set(node, { ...request, lookMs: Math.max(request.lookMs, againMs) });
  }
  return againMs;
}

function mayTakeOver(state: OrchestratorState, { stage, graceUntilMs }: Member): boolean {
  const { present: replicas } = rosterOf(state, present(stage, "a contributor has a stage"));
  return !state.config.deterministic && replicas > (graceUntilMs === null ? 1 : 0);
}

function takeOver(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const { node } = member;
  const tasks = [...member.stepTasks];
  if (member.graceUntilMs === null) noteWithheld(state, { node, duty: "confirming" });
  reissueCredited(state, { member, tasks, avoid: node });
  return tasks.map((task) =>
    record({ type: "taskReleased", task, node, reason: "its gradient was not committed in time" })
  );
}

export function onStepSealed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: StepSealed },
): OrchestratorEffect[] {
  const { work } = state;
  const asked = work?.asked.get(member.node);
  const ahead = work?.askedAhead.get(member.node);
  if (ahead?.request === message.request && ahead.tasks.length === member.stepTasks.length) {
    // It got one more task and is asked again after it.
    work?.askedAhead.delete(member.node);
    return [];
  }
  if (
    work === null || message.step !== state.step || asked === undefined || message.request !== asked.request ||
    message.tasks !== member.stepTasks.length || work.sealed.has(member.node)
  ) {
    return []; // outdated, with a new request on its way; or repeated
  }
  if (!(message.gradientSquareSum >= 0) || !Number.isFinite(message.gradientSquareSum)) {
    const detail = `The gradient norm of step ${state.step} must be finite, and is ${message.gradientSquareSum}`;
    return reject(member.node, fault("badNumbers", detail));
  }
  const squareSum = Math.min(message.gradientSquareSum, mostSquareSum);
  const { receipt, effects } = receiptOf(state, { member, message, asked });
  work.sealed.set(member.node, { tasks: message.tasks, squareSum, receipt });
  noteFulfilled(state, { node: member.node, duty: "confirming" });
  return effects;
}

export function isSealed(work: StepWork): boolean {
  return work.left === 0 && work.sealed.size === work.contributors.size;
}

/** Keeps a lost member's tasks counted if its stage has another contributor. Returns how many. */
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
  for (const node of openWork(state).contributors) {
    if (node !== member.node && state.members.get(node)?.stage === member.stage) return true;
  }
  return false;
}
