/**
 * What validators are asked: a held-out evaluation of every round's parameters, and the repetition of one or more tasks of
 * every miner and round.
 *
 * Replayed tasks come from the round's first step, where every replica still holds exactly the round's parameters, and are
 * drawn after the miners have delivered, from the round's secret key. Their wires are held until the answer is there. Backlog is
 * bounded: at most one older round waits; beyond that requests are dropped and a warning says so, once while there is no validator. Who is asked, and what
 * follows when it does not answer, is audit_requests.ts's; what evaluations say together, evaluations.ts's.
 */

import { present } from "../../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../../ids.ts";
import { nextBelow } from "../../prng.ts";
import type { Replayed, RequestFailed } from "../../protocol/message.ts";
import { passOn, takeLate, takeRunning } from "./audit_requests.ts";
import { addRequest, type AuditRequest, closeRequest, isProbe, type ReplayTask, roundOf } from "./audit_state.ts";
import { settleEvaluation } from "./evaluations.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { noteVerdict } from "../step/scale_book.ts";
import type { Flow, StepWork, WorkItem } from "../step/step_state.ts";
import { blobsOf, deleteUnused } from "../stored_blobs.ts";

/** Whether anyone will ever answer. */
export function isAudited(state: OrchestratorState): boolean {
  return state.config.swarm.validators > 0 || state.validators.size > 0;
}

/** Picks the round's replays and keeps the step's wires for them. */
export function holdForAudit(
  state: OrchestratorState,
  options: { work: StepWork; refs: BlobRef[] },
): OrchestratorEffect[] {
  const { work, refs } = options;
  const { audit, config } = state;
  if (!isAudited(state)) return [{ type: "release", refs }, ...dropBacklog(state)];
  audit.held.push({ round: state.round, refs });
  for (const candidates of replayable(state, work).values()) {
    for (let i = 0; i < config.validate.replaysPerMiner && candidates.length > 0; i++) {
      const [replay] = candidates.splice(nextBelow(state.stream, candidates.length), 1);
      addRequest(audit, { type: "replay", replay: present(replay, "a drawn candidate"), tried: [] });
    }
  }
  return dropBacklog(state);
}

/** What each miner did in the step and a validator can repeat. */
function replayable(state: OrchestratorState, work: StepWork): Map<NodeId, ReplayTask[]> {
  const byMiner = new Map<NodeId, ReplayTask[]>();
  for (const flow of work.flows) {
    for (const item of flow.items) {
      const replay = replayTask(state, { flow, item });
      if (replay === null || !state.members.has(replay.miner)) continue;
      const own = byMiner.get(replay.miner);
      if (own === undefined) byMiner.set(replay.miner, [replay]);
      else own.push(replay);
    }
  }
  return byMiner;
}

/** The head's backward has no output to compare. */
function replayTask(state: OrchestratorState, options: { flow: Flow; item: WorkItem }): ReplayTask | null {
  const { flow, item } = options;
  const output = item.direction === "forward" ? flow.wires[item.stage] : flow.gradients[item.stage];
  if (flow.isRemade || output === null || output === undefined || state.replaced.has(item.stage)) return null;
  const { node, task } = present(item.madeBy, "a kept output has a maker");
  return {
    round: state.round,
    miner: node,
    task,
    microbatch: item.microbatch,
    stage: item.stage,
    direction: item.direction,
    input: item.stage === 0 ? null : flow.wires[item.stage - 1] ?? null,
    gradient: item.direction === "backward" ? flow.gradients[item.stage + 1] ?? null : null,
    output,
    losses: item.direction === "turnaround" ? flow.losses : null,
  };
}

function dropBacklog(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  const isOld = (request: AuditRequest) => roundOf(request) < state.round - 1;
  const dropped = audit.pending.filter(isOld);
  if (dropped.length === 0) return [];
  audit.pending = audit.pending.filter((request) => !isOld(request));
  for (const request of dropped) closeRequest(audit, request);
  const isAlone = state.validators.size === 0;
  const isSaid = isAlone && audit.isAloneSaid;
  audit.isAloneSaid = isAlone;
  return isSaid ? [] : [record({ type: "warning", text: droppedText(dropped.length, { isAlone }) })];
}

function droppedText(audits: number, { isAlone }: { isAlone: boolean }): string {
  const what = audits === 1 ? "1 audit of an old round was" : `${audits} audits of old rounds were`;
  return isAlone
    ? `${what} dropped as the run has no validator; until one joins, nothing is audited: iota validate`
    : `${what} dropped as no validator kept up; start another with: iota validate`;
}

export function onReplayed(
  state: OrchestratorState,
  options: { member: Member; message: Replayed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message } = options;
  const request = takeRunning(state, { ...options, request: message.request });
  if (request?.type !== "replay") return [];
  closeRequest(state.audit, request);
  const { tolerance } = state.config.validate;
  const { innovationError, equalShare, lossError } = message;
  const { round, miner, stage, task } = request.replay;
  const passed = innovationError <= tolerance && (lossError === null || lossError <= tolerance);
  state.facts[passed ? "verdictsPassed" : "verdictsFailed"] += 1;
  noteVerdict(state.scales, { node: miner, passed });
  return [
    record({
      type: "verdict",
      round,
      validator: member.node,
      miner,
      stage,
      task,
      passed,
      innovationError,
      equalShare,
      lossError,
      tolerance,
    }),
  ];
}

export function onRequestFailed(
  state: OrchestratorState,
  options: { member: Member; message: RequestFailed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message } = options;
  const request = takeRunning(state, { ...options, request: message.request });
  if (request === null) return [];
  return [
    ...(isProbe(request) ? [] : giveOn(state, { request, validator: member.node })),
    record({ type: "faultSeen", node: member.node, ...message.fault }),
  ];
}

/** No answer in time: another validator gets it. */
export function onAuditAlarm(
  state: OrchestratorState,
  { id, nowMs }: { id: number; nowMs: number },
): OrchestratorEffect[] {
  const wasSilent = state.audit.running.get(id)?.validator ?? null;
  const isKnown = wasSilent !== null && state.audit.silent.has(wasSilent);
  const taken = takeLate(state, { id, nowMs });
  if (taken === null || isProbe(taken.late.request)) return [];
  const { late: { validator, request }, isKept } = taken;
  const what = request.type === "evaluate" ? "evaluation" : `audit of ${request.replay.task}`;
  const detail =
    `Cannot wait for the ${what} of round ${roundOf(request)} any longer as a validator must answer in time` +
    (isKept ? "; there is no other to ask" : "; another one is asked");
  const seen = record({ type: "faultSeen", node: validator, code: "limitExceeded", detail });
  return [...(isKept && isKnown ? [] : [seen]), ...(isKept ? [] : giveOn(state, { request, validator }))];
}

function giveOn(
  state: OrchestratorState,
  { request, validator }: { request: AuditRequest; validator: NodeId },
): OrchestratorEffect[] {
  if (passOn(state, { request, validator }) || request.type !== "evaluate") return [];
  return settleEvaluation(state, request);
}

/** The run closes: what has been said so far is all there will be. */
export function settleOpenEvaluations(state: OrchestratorState): OrchestratorEffect[] {
  const { pending, running } = state.audit;
  const asked = [...running.values()].map(({ request }) => request).filter((request) => !isProbe(request));
  const requests = [...pending, ...asked];
  return requests.flatMap((request) => request.type === "evaluate" ? settleEvaluation(state, request) : []);
}

/** What was done with parameters that are no more cannot be repeated. */
export function dropReplays(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): void {
  const { audit } = state;
  const isVain = (request: AuditRequest) =>
    request.type === "replay" && request.replay.round === round && request.replay.stage === stage;
  const running = [...audit.running].filter(([, { request }]) => isVain(request));
  for (const [id] of running) audit.running.delete(id);
  const dropped = [...audit.pending.filter(isVain), ...running.map(([, { request }]) => request)];
  audit.pending = audit.pending.filter((request) => !isVain(request));
  for (const request of dropped) closeRequest(audit, request);
}

/** What was computed from or came to segments that are gone cannot be repeated. No request is running. */
export function dropWithout(state: OrchestratorState, lost: ReadonlySet<string>): OrchestratorEffect[] {
  const { audit } = state;
  const isLost = (ref: BlobRef | null) => ref !== null && lost.has(ref.hash);
  for (const held of audit.held) held.refs = held.refs.filter((ref) => !isLost(ref));
  const isVain = (request: AuditRequest) =>
    request.type === "replay" && [request.replay.input, request.replay.gradient, request.replay.output].some(isLost);
  const dropped = audit.pending.filter(isVain);
  audit.pending = audit.pending.filter((request) => !isVain(request));
  for (const request of dropped) closeRequest(audit, request);
  if (dropped.length === 0) return [];
  const what = dropped.length === 1 ? "1 audit was" : `${dropped.length} audits were`;
  return [
    record({ type: "warning", text: `${what} dropped as the wires were in the memory of a process that was killed` }),
  ];
}

/** Frees wires and parameters of rounds that no open request needs. */
export function settleRounds(state: OrchestratorState): OrchestratorEffect[] {
  const { audit, retired } = state;
  const isOver = ({ round }: { round: number }) => !audit.open.has(round);
  if (!audit.held.some(isOver) && !retired.some(isOver)) return [];
  const effects: OrchestratorEffect[] = [];
  for (const { refs } of audit.held.filter(isOver)) {
    if (refs.length > 0) effects.push({ type: "release", refs });
  }
  audit.held = audit.held.filter((held) => !isOver(held));
  state.retired = retired.filter((sources) => !isOver(sources));
  effects.push(
    ...deleteUnused(state, retired.filter(isOver).flatMap((sources) => blobsOf(sources.stages).map((ref) => ref.hash))),
  );
  return effects;
}

export function auditsAreDone(state: OrchestratorState): boolean {
  const { pending, running } = state.audit;
  return pending.length === 0 && [...running.values()].every(({ request }) => isProbe(request));
}
