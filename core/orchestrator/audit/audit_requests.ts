/**
 * Which validator gets which request, until when it must answer, and who gets it next.
 *
 * A request that was not answered in time goes to another validator, never twice to the same one. Who let a deadline pass is
 * asked again when nobody else is left, or when it has answered after all. As soon as one has been silent, those that never
 * answered are probed, all at once. So any number of silent validators costs a run one or two deadlines, not its audits.
 */

import { present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { shuffle } from "../../prng.ts";
import { setAlarm } from "../alarms.ts";
import {
  type AuditRequest,
  closeRequest,
  evaluationOf,
  isProbe,
  type ReplayTask,
  roundOf,
  type RunningAudit,
} from "./audit_state.ts";
import { type Attachment, type OrchestratorEffect, send } from "../event.ts";
import type { Member, OrchestratorState, RoundSources } from "../state.ts";

const firstPatience = 1; // times mergePhaseMs, while no answer was measured
const answerPatience = 8; // times the slowest answer
const leastPatienceMs = 10_000;

/** Where the stages of a round are loaded from; null: it is over. */
export function sourcesOf(state: OrchestratorState, round: number): RoundSources | null {
  if (state.sources.round === round) return state.sources;
  return state.retired.find((sources) => sources.round === round) ?? null;
}

/** Gives idle validators, drawn in secret, the oldest requests whose parameters can be fetched. */
export function requestAudits(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { audit } = state;
  const hasWork = audit.pending.length > 0 || audit.silent.size > 0;
  if (!hasWork || audit.running.size >= state.validators.size) return [];
  const effects: OrchestratorEffect[] = [];
  const { asked, unheard } = idleValidators(state);
  for (const validator of shuffle(state.stream, [...asked])) { // drawn, or the quickest would judge everybody
    const isOpen = (request: AuditRequest) =>
      !request.tried.includes(validator) && sourcesOf(state, roundOf(request)) !== null;
    const next = audit.pending.findIndex(isOpen);
    if (next === -1) continue;
    const [request] = audit.pending.splice(next, 1);
    effects.push(sendRequest(state, { validator, request: present(request, "a found request"), nowMs }));
  }
  for (const validator of unheard) {
    const request = evaluationOf(state.sources.round, true);
    effects.push(sendRequest(state, { validator, request, nowMs }));
  }
  return effects;
}

interface IdleValidators {
  readonly asked: readonly NodeId[];
  readonly unheard: readonly NodeId[]; // probed first
}

/** Connected and free: after somebody was silent those that answered before, and the silent ones only when nobody is left. */
function idleValidators(state: OrchestratorState): IdleValidators {
  const { silent, proven, running } = state.audit;
  const busy = new Set([...running.values()].map(({ validator }) => validator));
  const connected = [...state.validators].filter((node) => state.members.get(node)?.graceUntilMs === null);
  const idle = connected.filter((node) => !busy.has(node));
  const heard = idle.filter((node) => proven.has(node) && !silent.has(node));
  const unheard = idle.filter((node) => !proven.has(node) && !silent.has(node));
  if (silent.size === 0) return { asked: [...heard, ...unheard], unheard: [] };
  if (connected.some((node) => !silent.has(node))) return { asked: heard, unheard };
  return { asked: idle, unheard: [] };
}

function sendRequest(
  state: OrchestratorState,
  { validator, request, nowMs }: { validator: NodeId; request: AuditRequest; nowMs: number },
): OrchestratorEffect {
  const id = state.audit.requests++;
  state.audit.running.set(id, { validator, request, sentMs: nowMs });
  setAlarm(state, { type: "audit", request: id, atMs: nowMs + patienceMs(state) });
  const sources = present(sourcesOf(state, roundOf(request)), "a request is sent only with its sources").stages;
  if (request.type === "evaluate") {
    return send(validator, { type: "evaluate", request: id, round: request.round, sources }, [
      { type: "heldOutInputs" },
      { type: "heldOutTargets" },
    ]);
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
    source: present(sources[replay.stage], "a source a stage"),
  }, replayAttachments(replay));
}

function replayAttachments(replay: ReplayTask): Attachment[] {
  const { microbatch, input, gradient, output } = replay;
  const attachments: Attachment[] = [input === null ? { type: "inputs", microbatch } : { type: "blob", ref: input }];
  if (replay.direction === "turnaround") attachments.push({ type: "targets", microbatch });
  if (gradient !== null) attachments.push({ type: "blob", ref: gradient });
  return [...attachments, { type: "blob", ref: output }];
}

function patienceMs(state: OrchestratorState): number {
  const { slowestMs } = state.audit;
  const longestMs = firstPatience * state.config.limits.mergePhaseMs;
  return slowestMs === null ? longestMs : Math.min(longestMs, Math.max(leastPatienceMs, answerPatience * slowestMs));
}

/** Ends a running request of this validator, which its caller closes or passes on; null when it never had it. */
export function takeRunning(
  state: OrchestratorState,
  { member: { node }, request: id, nowMs }: { member: Member; request: number; nowMs: number },
): AuditRequest | null {
  const { audit } = state;
  if (audit.silent.get(node) === id) audit.silent.delete(node); // late, but it answers
  const running = audit.running.get(id);
  if (running?.validator !== node) return null;
  audit.running.delete(id);
  audit.silent.delete(node);
  audit.proven.add(node);
  audit.slowestMs = Math.max(audit.slowestMs ?? 0, nowMs - running.sentMs);
  return running.request;
}

/** Another validator will be asked. False: everybody has been, and the request is closed. */
export function passOn(
  state: OrchestratorState,
  { request, validator }: { request: AuditRequest; validator: NodeId },
): boolean {
  const { audit } = state;
  request.tried.push(validator);
  const isAnyLeft = [...state.validators].some((node) => !request.tried.includes(node));
  if (isAnyLeft) audit.pending.unshift(request);
  else closeRequest(audit, request);
  return isAnyLeft;
}

/**
 * A running request whose deadline has passed, taken from its validator; null when it was answered. While there is nobody else
 * to ask, the validator keeps it: late is better than never.
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
  if (isKept) setAlarm(state, { type: "audit", request: id, atMs: nowMs + patienceMs(state) });
  else audit.running.delete(id);
  audit.silent.set(validator, id);
  return { late, isKept };
}

/** A lost validator's requests wait for another. */
export function reissueAuditsOf(state: OrchestratorState, node: NodeId): void {
  const { audit } = state;
  for (const [id, running] of [...audit.running]) {
    if (running.validator !== node) continue;
    audit.running.delete(id);
    if (!isProbe(running.request)) audit.pending.unshift(running.request);
  }
  audit.silent.delete(node);
}
