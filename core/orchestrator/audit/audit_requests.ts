/**
 * Which validator gets which request, and its deadline. A late request goes to another validator, to the same one only
 * if no other is left. After a silence, all validators that never answered are probed at once, so any number of silent
 * ones costs a run one or two deadlines.
 */

import { present } from "../../assert.ts";
import type { BlobRef, NodeId } from "../../ids.ts";
import { shuffle } from "../../prng.ts";
import type { ParameterSource, ReplaySource } from "../../protocol/message.ts";
import type { Subject } from "../../statements/findings.ts";
import { type DoneWork, sourceName, workHash } from "../../statements/statement.ts";
import { gradientAttachments, gradientPart } from "./gradient_parts.ts";
import { setAlarm } from "../alarms.ts";
import { groupsOf, hasAuditFor, requeueAudit, takeAudit } from "./audit_queue.ts";
import {
  type AuditRequest,
  closeRequest,
  evaluationOf,
  type GradientReplay,
  isProbe,
  type ReplayTask,
  roundOf,
  type RunningAudit,
} from "./audit_state.ts";
import { freeValidators, placeValidator } from "./validator_places.ts";
import { type Attachment, type OrchestratorEffect, send } from "../event.ts";
import type { OrchestratorState, RoundSources } from "../state.ts";

const firstPatience = 1; // times mergePhaseMs, until an answer has been measured
const answerPatience = 8; // times the slowest answer to such a request
const lasting = 0.9; // of the slowest answer, per later one of its kind: one late answer must not stretch all deadlines
const leastPatienceMs = 10_000;

/** Null if the round is over. */
export function sourcesOf(state: OrchestratorState, round: number): RoundSources | null {
  if (state.sources.round === round) return state.sources;
  return state.retired.find((sources) => sources.round === round) ?? null;
}

export function requestAudits(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { audit } = state;
  const groups = groupsOf(audit.queue, (round) => sourcesOf(state, round) !== null);
  if (groups.length === 0 && audit.silent.size === 0) return [];
  const { asked, unheard } = freeValidators(audit);
  const takers = groups.length === 0 ? [] : asked.filter((validator) => hasAuditFor(groups, validator));
  const effects: OrchestratorEffect[] = [];
  for (const validator of shuffle(state.stream, takers)) { // in random order: the fastest must not judge every miner
    const request = takeAudit(audit.queue, { groups, validator });
    if (request !== null) effects.push(sendRequest(state, { validator, request, nowMs }));
  }
  for (const validator of unheard) {
    const request = evaluationOf(state.sources.round, true);
    effects.push(sendRequest(state, { validator, request, nowMs }));
  }
  return effects;
}

/** `first`: how many of the gradient's tasks this validator has already repeated. */
export function sendRequest(
  state: OrchestratorState,
  { validator, request, first = 0, nowMs }: {
    validator: NodeId;
    request: AuditRequest;
    first?: number;
    nowMs: number;
  },
): OrchestratorEffect {
  const id = state.audit.requests++;
  const tasks = request.type === "gradient" ? gradientPart(state.config, { replay: request.replay, first }) : 1;
  state.audit.runningOf.set(validator, id);
  placeValidator(state, validator);
  setAlarm(state, { type: "audit", request: id, atMs: nowMs + patienceMs(state, { request, tasks }) });
  const sources = present(sourcesOf(state, roundOf(request)), "a request is sent only with its sources").stages;
  const subject = subjectOf(request, sources);
  state.audit.running.set(id, { validator, request, sentMs: nowMs, first, tasks, subject, answer: null });
  if (request.type === "evaluate" || request.type === "trial") {
    const { round, type } = request;
    const evaluated = evaluatedSources(request, sources);
    return send(validator, { type: "evaluate", request: id, round, sources: evaluated, isTrial: type === "trial" }, [
      { type: "heldOutInputs" },
      { type: "heldOutTargets" },
    ]);
  }
  if (request.type === "gradient") {
    const { replay: { round, step, miner, task, stage, direction }, replay } = request;
    const isLast = first + tasks === replay.tasks.length;
    const source = replaySource(replay, sources);
    const asked = { request: id, round, step, miner, task, stage, direction, first, isLast, source };
    return send(validator, { type: "repeatGradient", ...asked }, gradientAttachments(replay, { first, tasks }));
  }
  const { replay } = request;
  return send(validator, {
    type: "replay",
    request: id,
    round: replay.round,
    miner: replay.miner,
    task: replay.task,
    stage: replay.stage,
    direction: replay.direction,
    losses: replay.losses,
    source: replaySource(replay, sources),
  }, replayAttachments(replay));
}

function subjectOf(request: AuditRequest, sources: readonly ParameterSource[]): Subject {
  switch (request.type) {
    case "evaluate":
    case "trial":
      return { type: "model", round: request.round, parameters: evaluatedSources(request, sources).map(sourceName) };
    case "replay": {
      const { replay: { round, miner, task }, replay } = request;
      const parameters = sourceName(replaySource(replay, sources));
      return { type: "task", round, miner, task, work: workHash(workOf(replay)), parameters };
    }
    case "gradient": {
      const { replay: { round, step, miner, task }, replay } = request;
      return { type: "gradient", round, step, miner, task, parameters: sourceName(replaySource(replay, sources)) };
    }
  }
}

function workOf({ task, input, gradient, output, losses }: ReplayTask): DoneWork {
  const hashOf = (ref: BlobRef | null) => ref?.hash ?? null;
  return { task, input: hashOf(input), gradient: hashOf(gradient), output: hashOf(output), losses };
}

function evaluatedSources(
  request: Extract<AuditRequest, { type: "evaluate" | "trial" }>,
  sources: readonly ParameterSource[],
): readonly ParameterSource[] {
  if (request.type === "evaluate") return sources;
  const { stage, parameters } = request;
  return sources.map((source, index) =>
    index === stage && parameters !== null ? { type: "blobs", parameters, momentum: null } : source
  );
}

export function replaySource(
  { stage, change }: ReplayTask | GradientReplay,
  sources: readonly ParameterSource[],
): ReplaySource {
  const from = present(sources[stage], "every stage has a source");
  return change === null ? from : { type: "moved", from, change };
}

export function replayAttachments(replay: ReplayTask): Attachment[] {
  const { microbatch, input, gradient, output } = replay;
  const attachments: Attachment[] = [input === null ? { type: "inputs", microbatch } : { type: "blob", ref: input }];
  if (replay.direction === "turnaround") attachments.push({ type: "targets", microbatch });
  if (gradient !== null) attachments.push({ type: "blob", ref: gradient });
  if (output !== null) attachments.push({ type: "blob", ref: output });
  return attachments;
}

/** Each kind has its own deadline: an evaluation takes many times as long as a task. */
function patienceMs(state: OrchestratorState, { request, tasks }: Pick<RunningAudit, "request" | "tasks">): number {
  const slowestMs = state.audit.slowestMs.get(request.type);
  const longestMs = firstPatience * state.config.limits.mergePhaseMs;
  if (slowestMs === undefined) return longestMs;
  return Math.min(longestMs, Math.max(leastPatienceMs, answerPatience * tasks * slowestMs));
}

export function endRunning(state: OrchestratorState, id: number): void {
  const { running, runningOf } = state.audit;
  const { validator } = present(running.get(id), "a running request");
  running.delete(id);
  runningOf.delete(validator);
  placeValidator(state, validator);
}

/** Null if the validator never had the request; otherwise the caller closes or reassigns it. */
export function takeRunning(
  state: OrchestratorState,
  { validator: node, request: id, nowMs }: { validator: NodeId; request: number; nowMs: number },
): AuditRequest | null {
  const { audit } = state;
  if (audit.silent.get(node) === id) { // late, but it answers
    audit.silent.delete(node);
    placeValidator(state, node);
  }
  const running = audit.running.get(id);
  if (running?.validator !== node) return null;
  audit.silent.delete(node);
  audit.proven.add(node);
  endRunning(state, id);
  const { request, tasks, sentMs } = running;
  const before = audit.slowestMs.get(request.type) ?? 0;
  audit.slowestMs.set(request.type, Math.max(lasting * before, (nowMs - sentMs) / tasks));
  return request;
}

/** Queues the request for another validator. False if all have been asked: the request is then closed. */
export function passOn(
  state: OrchestratorState,
  { request, validator }: { request: AuditRequest; validator: NodeId },
): boolean {
  const { audit } = state;
  request.tried.push(validator);
  const isAnyLeft = [...state.validators].some((node) => !request.tried.includes(node));
  if (isAnyLeft) requeueAudit(audit.queue, request);
  else closeRequest(audit, request);
  return isAnyLeft;
}

/**
 * Null if the request was answered. If no other validator can be asked, this one keeps it: late is better than never.
 */
export function takeLate(
  state: OrchestratorState,
  { id, nowMs }: { id: number; nowMs: number },
): { late: RunningAudit; isKept: boolean } | null {
  const { audit } = state;
  const late = audit.running.get(id);
  if (late === undefined) return null;
  const { validator, request } = late;
  const isKept = !isProbe(request) &&
    [...state.validators].every((node) => node === validator || request.tried.includes(node));
  if (isKept) setAlarm(state, { type: "audit", request: id, atMs: nowMs + patienceMs(state, late) });
  else endRunning(state, id);
  audit.silent.set(validator, id);
  placeValidator(state, validator);
  return { late, isKept };
}

export function reissueAuditOf(state: OrchestratorState, node: NodeId): void {
  const { audit } = state;
  const id = audit.runningOf.get(node);
  if (id !== undefined) {
    const { request } = present(audit.running.get(id), "a validator's request is running");
    endRunning(state, id);
    if (!isProbe(request)) requeueAudit(audit.queue, request);
  }
  audit.silent.delete(node);
  placeValidator(state, node);
}
