/**
 * What validators are asked: a held-out evaluation of every round's parameters, and the repetition of one or more tasks of
 * every miner and round.
 *
 * Replayed tasks come from the round's first step, where every replica still holds exactly the round's parameters, and are
 * drawn after the miners have delivered. Their wires are held until the answer is there. Backlog is bounded: at most one
 * older round waits; beyond that requests are dropped and a warning says so.
 */

import { present } from "../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../ids.ts";
import { nextBelow } from "../prng.ts";
import type { Evaluated, Replayed, RequestFailed } from "../protocol/message.ts";
import { addRequest, type AuditRequest, closeRequest, type ReplayTask, roundOf } from "./audit_state.ts";
import { type Attachment, type OrchestratorEffect, record, send } from "./event.ts";
import type { Member, OrchestratorState, RoundSources } from "./state.ts";
import type { Flow, StepWork, WorkItem } from "./step_state.ts";
import { blobsOf, deleteUnused } from "./stored_blobs.ts";

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
      addRequest(audit, { type: "replay", replay: present(replay, "a drawn candidate") });
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
  if (output === null || output === undefined || state.replaced.has(item.stage)) return null;
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
  const text =
    `${dropped.length} audits of old rounds were dropped as no validator kept up; start another with: iota validate`;
  return [record({ type: "warning", text })];
}

/** Where the stages of a round are loaded from; null: it is over. */
export function sourcesOf(state: OrchestratorState, round: number): RoundSources | null {
  if (state.sources.round === round) return state.sources;
  return state.retired.find((sources) => sources.round === round) ?? null;
}

/** Gives every idle validator the oldest request whose parameters can be fetched. */
export function requestAudits(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  if (audit.pending.length === 0 || audit.running.size >= state.validators.size) return [];
  const effects: OrchestratorEffect[] = [];
  const busy = new Set([...audit.running.values()].map((running) => running.validator));
  for (const node of state.validators) {
    if (busy.has(node) || present(state.members.get(node), "a validator is a member").graceUntilMs !== null) continue;
    const next = audit.pending.findIndex((request) => sourcesOf(state, roundOf(request)) !== null);
    if (next === -1) break;
    const [request] = audit.pending.splice(next, 1);
    effects.push(sendRequest(state, { validator: node, request: present(request, "a found request") }));
  }
  return effects;
}

function sendRequest(
  state: OrchestratorState,
  options: { validator: NodeId; request: AuditRequest },
): OrchestratorEffect {
  const { validator, request: asked } = options;
  const id = state.audit.requests++;
  state.audit.running.set(id, { validator, request: asked });
  const sources = present(sourcesOf(state, roundOf(asked)), "a request is sent only with its sources").stages;
  if (asked.type === "evaluate") {
    return send(validator, { type: "evaluate", request: id, round: asked.round, sources }, [
      { type: "heldOutInputs" },
      { type: "heldOutTargets" },
    ]);
  }
  const { replay } = asked;
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

/** Ends a running request of this validator; null when it never had it. */
function takeRunning(state: OrchestratorState, options: { member: Member; request: number }): AuditRequest | null {
  const running = state.audit.running.get(options.request);
  if (running?.validator !== options.member.node) return null;
  state.audit.running.delete(options.request);
  closeRequest(state.audit, running.request);
  return running.request;
}

export function onEvaluated(
  state: OrchestratorState,
  options: { member: Member; message: Evaluated },
): OrchestratorEffect[] {
  const { member, message } = options;
  const request = takeRunning(state, { member, request: message.request });
  if (request?.type !== "evaluate") return [];
  const { loss, tokens } = message;
  state.facts.heldOutFirst ??= loss;
  if ((state.facts.heldOutLast?.round ?? -1) <= request.round) state.facts.heldOutLast = { round: request.round, loss };
  return [record({ type: "evaluated", round: request.round, validator: member.node, loss, tokens })];
}

export function onReplayed(
  state: OrchestratorState,
  options: { member: Member; message: Replayed },
): OrchestratorEffect[] {
  const { member, message } = options;
  const request = takeRunning(state, { member, request: message.request });
  if (request?.type !== "replay") return [];
  const { tolerance } = state.config.validate;
  const { innovationError, equalShare, lossError } = message;
  const { round, miner, stage, task } = request.replay;
  const passed = innovationError <= tolerance && (lossError === null || lossError <= tolerance);
  state.facts[passed ? "verdictsPassed" : "verdictsFailed"] += 1;
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
  options: { member: Member; message: RequestFailed },
): OrchestratorEffect[] {
  const { member, message } = options;
  if (takeRunning(state, { member, request: message.request }) === null) return [];
  return [record({ type: "faultSeen", node: member.node, ...message.fault })];
}

/** A lost validator's requests wait for another. */
export function reissueAuditsOf(state: OrchestratorState, node: NodeId): void {
  const { audit } = state;
  for (const [id, running] of [...audit.running]) {
    if (running.validator !== node) continue;
    audit.running.delete(id);
    audit.pending.unshift(running.request);
  }
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
  return state.audit.pending.length === 0 && state.audit.running.size === 0;
}
