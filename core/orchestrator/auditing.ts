/**
 * What validators are asked: a held-out evaluation of every round's parameters, and the repetition of one or more tasks of
 * every miner and round.
 *
 * Replayed tasks come from the round's first step, where every replica still holds exactly the round's parameters, and are
 * drawn after the miners have delivered. Their wires are held until the answer is there. Backlog is bounded: at most one
 * older round waits; beyond that requests are dropped and a warning says so.
 */

import { present } from "../assert.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import { nextBelow } from "../prng.ts";
import type { Evaluated, Replayed, RequestFailed } from "../protocol/message.ts";
import { type Attachment, type OrchestratorEffect, record, send } from "./event.ts";
import type {
  AuditRequest,
  Flow,
  Member,
  OrchestratorState,
  ReplayTask,
  RoundSources,
  StepWork,
  WorkItem,
} from "./state.ts";
import { blobsOf, deleteUnused } from "./stored_blobs.ts";

/** Picks the round's replays and keeps the step's wires for them. */
export function holdForAudit(
  state: OrchestratorState,
  options: { work: StepWork; refs: BlobRef[] },
): OrchestratorEffect[] {
  const { work, refs } = options;
  const { audit, config } = state;
  if (config.swarm.validators === 0 && validators(state).length === 0) return [{ type: "release", refs }];
  audit.held.push({ round: state.round, refs });
  for (const member of state.members.values()) {
    const candidates = work.flows.flatMap((flow) =>
      flow.items.filter((item) => item.doneBy === member.node).map((item) => ({ flow, item }))
    ).map(({ flow, item }) => replayTask(state, { flow, item })).filter((replay) => replay !== null);
    for (let i = 0; i < config.validate.replaysPerMiner && candidates.length > 0; i++) {
      const [replay] = candidates.splice(nextBelow(state.stream, candidates.length), 1);
      audit.pending.push({ type: "replay", replay: present(replay, "a drawn candidate") });
    }
  }
  return dropBacklog(state);
}

/** The head's backward has no output to compare. */
function replayTask(state: OrchestratorState, options: { flow: Flow; item: WorkItem }): ReplayTask | null {
  const { flow, item } = options;
  const output = item.direction === "forward" ? flow.wires[item.stage] : flow.gradients[item.stage];
  if (output === null || output === undefined) return null;
  return {
    round: state.round,
    miner: present(item.doneBy, "a done item"),
    task: present(item.task, "a done item"),
    microbatch: item.microbatch,
    stage: item.stage,
    direction: item.direction,
    input: item.stage === 0 ? null : flow.wires[item.stage - 1] ?? null,
    gradient: item.direction === "backward" ? flow.gradients[item.stage + 1] ?? null : null,
    output,
    losses: item.direction === "turnaround" ? flow.losses : null,
  };
}

const roundOf = (request: AuditRequest): number => request.type === "evaluate" ? request.round : request.replay.round;

function dropBacklog(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  const dropped = audit.pending.filter((request) => roundOf(request) < state.round - 1);
  if (dropped.length === 0) return [];
  audit.pending = audit.pending.filter((request) => !dropped.includes(request));
  const text =
    `${dropped.length} audits of old rounds were dropped as no validator kept up; start another with: iota validate`;
  return [record({ type: "warning", text })];
}

function validators(state: OrchestratorState): Member[] {
  return [...state.members.values()].filter((member) => member.role === "validator");
}

function sourcesOf(state: OrchestratorState, round: number): RoundSources | null {
  if (state.sources.round === round) return state.sources;
  return state.retired.find((sources) => sources.round === round) ?? null;
}

/** Gives every idle validator the oldest request whose parameters can be fetched. */
export function requestAudits(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  const effects: OrchestratorEffect[] = [];
  const busy = new Set([...audit.running.values()].map((running) => running.validator));
  for (const member of validators(state)) {
    if (busy.has(member.node) || member.graceUntilMs !== null) continue;
    const next = audit.pending.findIndex((request) => sourcesOf(state, roundOf(request)) !== null);
    if (next === -1) break;
    const [request] = audit.pending.splice(next, 1);
    effects.push(sendRequest(state, { validator: member.node, request: present(request, "a found request") }));
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
  return running.request;
}

export function onEvaluated(
  state: OrchestratorState,
  options: { member: Member; message: Evaluated },
): OrchestratorEffect[] {
  const { member, message } = options;
  const request = takeRunning(state, { member, request: message.request });
  if (request?.type !== "evaluate") return [];
  state.audit.lossByRound.set(request.round, message.loss);
  const { loss, tokens } = message;
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

/** Frees wires and parameters of rounds that no open request needs. */
export function settleRounds(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  const open = new Set(
    [...audit.pending, ...[...audit.running.values()].map((running) => running.request)].map(roundOf),
  );
  const effects: OrchestratorEffect[] = [];
  for (const held of audit.held.filter((entry) => !open.has(entry.round))) {
    effects.push({ type: "release", refs: held.refs });
  }
  audit.held = audit.held.filter((entry) => open.has(entry.round));
  const over = state.retired.filter((entry) => !open.has(entry.round));
  state.retired = state.retired.filter((entry) => open.has(entry.round));
  effects.push(...deleteUnused(state, over.flatMap((sources) => blobsOf(sources.stages))));
  return effects;
}

export function auditsAreDone(state: OrchestratorState): boolean {
  return state.audit.pending.length === 0 && state.audit.running.size === 0;
}
