/**
 * Audits: validators repeat tasks of every miner in a round's first step, when all replicas hold the round's
 * parameters, and of drawn miners in later steps. They are sampled from a secret key after the miners have delivered.
 * The backlog is bounded: the oldest audits are dropped with a warning.
 */

import { plural } from "../../plural.ts";
import type { BlobRef, NodeId, StageIndex } from "../../ids.ts";
import type { Replayed, RequestFailed } from "../../protocol/audit_messages.ts";
import { judgeRepetition } from "../../score/verdict.ts";
import { setAlarm } from "../alarms.ts";
import { addRequest, isPatient, queuedAudits, removeAudits } from "./audit_queue.ts";
import { endRunning, passOn, sendRequest, sourcesOf, takeLate, takeRunning } from "./audit_requests.ts";
import {
  auditedRefs,
  type AuditedWork,
  type AuditRequest,
  awaitedWork,
  closeRequest,
  type GradientReplay,
  isProbe,
  isRepetition,
  openOne,
  repetitionOf,
  replayOf,
  type ReplayTask,
  roundOf,
  type SignedAnswer,
} from "./audit_state.ts";
import { endEvaluation } from "./held_out/evaluations.ts";
import { awaitsTest } from "./held_out/evaluated_rounds.ts";
import { giveOn } from "./giving_on.ts";
import { askReferee, dropRefereed } from "./referee.ts";
import { reach } from "../marks.ts";
import { dropTrials } from "./held_out/payload_trials.ts";
import { dropAwaited, takeFreed } from "./shown_states.ts";
import { actOnVerdict } from "./verdict_actions.ts";
import { type OrchestratorEffect, record, releaseEffect } from "../event.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { proofOfTask, proofWord } from "./work_proof.ts";
import { auditedOutcomes, loseWires, mostAudited, releaseWires } from "../step/outcomes.ts";
import { deleteUnused, readableOf } from "../stored_blobs.ts";

export function auditFirstStep(
  state: OrchestratorState,
  { drawn, gradients }: {
    drawn: ReadonlyMap<NodeId, readonly ReplayTask[]>;
    gradients: ReadonlyMap<NodeId, GradientReplay>;
  },
): OrchestratorEffect[] {
  for (const replays of drawn.values()) for (const replay of replays) addRequest(state.audit, replayOf(replay));
  for (const replay of gradients.values()) addRequest(state.audit, repetitionOf({ type: "gradient", replay }));
  return [...dropOverflow(state), ...dropBacklog(state)];
}

/** Repeatedly restarted rounds would hold ever more wires, so the oldest audit is given up. */
function dropOverflow(state: OrchestratorState): OrchestratorEffect[] {
  const audited = auditedOutcomes(state);
  const [oldest] = audited;
  if (oldest === undefined || audited.length <= mostAudited) return [];
  reach(state, "audit: given up, as too many rounds are open");
  const tasks = new Set((oldest.wires ?? []).flatMap((wires) => wires.map((wire) => wire?.task)));
  dropRequests(state, (request) => isRepetition(request) && tasks.has(request.replay.task));
  return releaseEffect(releaseWires(state, oldest));
}

const shownPatience = 3; // rounds: parameters may be opened until the next one's end, or a round later if disconnected

function dropBacklog(state: OrchestratorState): OrchestratorEffect[] {
  const { audit } = state;
  const patienceOf = (request: AuditRequest) =>
    isRepetition(request) && request.replay.change !== null ? shownPatience : 1;
  const isOld = (request: AuditRequest) => roundOf(request) < state.round - patienceOf(request);
  const dropped = removeAudits(audit.queue, isOld);
  if (dropped.length === 0) return [];
  for (const request of dropped) closeRequest(audit, request);
  // Trials and sampled gradients wait for idle validators, so dropping them is normal.
  const isMissed = (request: AuditRequest) => request.type !== "trial" && !isPatient(request);
  const audits = dropped.filter(isMissed).length;
  if (audits === 0) return [];
  const isAlone = state.validators.size === 0;
  const isSaid = isAlone && audit.isAloneSaid;
  audit.isAloneSaid = isAlone;
  return isSaid ? [] : [record({ type: "warning", text: droppedText(audits, { isAlone }) })];
}

function droppedText(audits: number, { isAlone }: { isAlone: boolean }): string {
  const what = `${plural(audits, "old audit")} dropped`; // short enough for a screen of 80 columns
  return isAlone
    ? `${what}: no validator; start one: iota validate`
    : `${what}: no validator kept up; start another: iota validate`;
}

export function onReplayed(
  state: OrchestratorState,
  { validator, answer, isProven, nowMs }: {
    validator: NodeId;
    answer: Replayed & SignedAnswer;
    isProven: boolean; // its miner has signed for the work
    nowMs: number;
  },
): OrchestratorEffect[] {
  const subject = state.audit.running.get(answer.request)?.subject;
  const request = takeRunning(state, { validator, request: answer.request, nowMs });
  if (request?.type !== "replay" || subject?.type !== "task") return [];
  const { tolerance } = state.config.validate;
  const verdict = judgeRepetition(request.replay, { found: answer, tolerance });
  const replay = { ...request.replay, then: null };
  const { then } = request.replay;
  const next = then === null ? [] : askNext(state, { validator, replay: then, nowMs });
  if (verdict.type === "failed" && !request.isSecond) {
    passOn(state, { request: { ...request, replay, isSecond: true }, validator });
  } else closeRequest(state.audit, request);
  const { work, parameters } = subject;
  const word = {
    work,
    parameters,
    signature: answer.signature,
    ...proofWord(isProven ? proofOfTask(request.replay) : null),
  };
  const effects = actOnVerdict(state, { verdict, validator, word });
  if (verdict.type === "failed") askReferee(state, { work: { type: "replay", replay }, accuser: validator });
  return [...effects, ...next];
}

/** The validator that repeated the forward still has the activations. */
function askNext(
  state: OrchestratorState,
  { validator, replay, nowMs }: { validator: NodeId; replay: ReplayTask; nowMs: number },
): OrchestratorEffect[] {
  const request = replayOf(replay);
  const isHere = state.members.get(validator)?.graceUntilMs === null;
  if (!isHere || sourcesOf(state, replay.round) === null) {
    addRequest(state.audit, request);
    return [];
  }
  openOne(state.audit.open, replay.round);
  return [sendRequest(state, { validator, request, nowMs })];
}

export function onRequestFailed(
  state: OrchestratorState,
  options: { member: Member; message: RequestFailed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message } = options;
  const isAnswered = (state.audit.running.get(message.request)?.answer ?? null) !== null;
  const request = isAnswered
    ? null
    : takeRunning(state, { validator: member.node, request: message.request, nowMs: options.nowMs });
  if (request === null) return [];
  return [
    ...giveOn(state, { request, validator: member.node }),
    record({ type: "faultSeen", node: member.node, ...message.fault }),
  ];
}

export function onAuditAlarm(
  state: OrchestratorState,
  { id, nowMs }: { id: number; nowMs: number },
): OrchestratorEffect[] {
  if ((state.audit.running.get(id)?.answer ?? null) !== null) { // its signature is being checked
    setAlarm(state, { type: "audit", request: id, atMs: nowMs + checkingMs });
    return [];
  }
  const wasSilent = state.audit.running.get(id)?.validator ?? null;
  const isKnown = wasSilent !== null && state.audit.silent.has(wasSilent);
  const taken = takeLate(state, { id, nowMs });
  if (taken === null || isProbe(taken.late.request)) return [];
  const { late: { validator, request }, isKept } = taken;
  const what = whatOf(request);
  const detail = `The ${what} of round ${roundOf(request)} got no answer in time` +
    (isKept ? "; there is no other to ask" : "; another one is asked");
  const seen = record({ type: "faultSeen", node: validator, code: "limitExceeded", detail });
  return [...(isKept && isKnown ? [] : [seen]), ...(isKept ? [] : giveOn(state, { request, validator }))];
}

const checkingMs = 10_000;

const whatOf = (request: AuditRequest): string =>
  request.type === "evaluate"
    ? "evaluation"
    : request.type === "trial"
    ? "payload evaluation"
    : `audit of ${request.replay.task}`;

/** No further answers will come. */
export function settleOpenEvaluations(state: OrchestratorState): OrchestratorEffect[] {
  const { queue, running } = state.audit;
  const asked = [...running.values()].map(({ request }) => request).filter((request) => !isProbe(request));
  const requests = [...queuedAudits(queue), ...asked];
  return requests.flatMap((request) => request.type === "evaluate" ? endEvaluation(state, request) : []);
}

export function dropReplays(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): void {
  const isOfStage = (work: { round: number; stage: StageIndex }) => work.round === round && work.stage === stage;
  dropRequests(state, (request) => isRepetition(request) && isOfStage(request.replay));
  dropAwaited(state, isOfStage);
  dropTrials(state, round);
}

function dropRequests(state: OrchestratorState, isVain: (request: AuditRequest) => boolean): number {
  const { audit } = state;
  const running = [...audit.running].filter(([, { request }]) => isVain(request));
  for (const [id] of running) endRunning(state, id);
  const dropped = [...removeAudits(audit.queue, isVain), ...running.map(([, { request }]) => request)];
  for (const request of dropped) closeRequest(audit, request);
  return dropped.length + dropRefereed(state, (work) => isVain(repetitionOf(work)));
}

/** Work without its input or output segments cannot be repeated. No request is running. */
export function dropWithout(state: OrchestratorState, lost: ReadonlySet<string>): OrchestratorEffect[] {
  const isLost = (ref: BlobRef | null) => ref !== null && lost.has(ref.hash);
  loseWires(state, isLost);
  for (const [round, { wires, states }] of state.audit.held) {
    state.audit.held.set(round, { wires: wires.filter((ref) => !isLost(ref)), states });
  }
  const lacksWire = (work: AuditedWork) => auditedRefs(work).some(isLost);
  const dropped = dropRequests(state, (request) => isRepetition(request) && lacksWire(request)) +
    dropAwaited(state, (awaited) => awaitedWork(awaited).some(lacksWire));
  if (dropped === 0) return [];
  const what = dropped === 1 ? "1 audit was" : `${dropped} audits were`;
  return [
    record({ type: "warning", text: `${what} dropped: the wires were in the memory of a process that has ended` }),
  ];
}

/** Frees wires and parameters of rounds without open requests. */
export function settleRounds(state: OrchestratorState): OrchestratorEffect[] {
  const { audit, retired } = state;
  const isOver = ({ round }: { round: number }) => !audit.open.has(round);
  const freed = takeFreed(state);
  const effects = [
    ...auditedOutcomes(state).filter(isOver).flatMap((outcome) => releaseEffect(releaseWires(state, outcome))),
    ...releaseEffect(freed.wires),
    ...deleteUnused(state, freed.states.map((ref) => ref.hash)),
  ];
  const unused = retired.filter((sources) => isOver(sources) && !awaitsTest(state, sources.round));
  if (unused.length === 0) return effects;
  state.retired = retired.filter((sources) => !unused.includes(sources));
  effects.push(
    ...deleteUnused(
      state,
      unused.flatMap((sources) => readableOf(sources.stages).map((ref) => ref.hash)),
    ),
  );
  return effects;
}

export function auditsAreDone(state: OrchestratorState): boolean {
  const { queue, running, refereed, awaited } = state.audit;
  return queue.size === 0 && refereed.size === 0 && awaited.size === 0 &&
    [...running.values()].every(({ request }) => isProbe(request));
}
