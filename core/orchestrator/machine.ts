/**
 * The orchestrator: one event in, effects out. Dispatches to the modules of this folder and runs what is due.
 *
 * Refuses nothing silently: a message of a stranger, of the wrong role or at the wrong time is answered with `reject`.
 */

import { assert, unreachable } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import type { Machine } from "../protocol/machine.ts";
import type { NodeMessage } from "../protocol/message.ts";
import { onEvaluated, onReplayed, onRequestFailed, requestAudits, settleRounds } from "./auditing.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record, reject } from "./event.ts";
import { assertInvariants } from "./invariants.ts";
import {
  onMergeApplied,
  onMergeFailed,
  onMergeRefereed,
  onPayloadCommitted,
  onSliceReduced,
  onSliceRefereed,
} from "./merge_answers.ts";
import { advanceMerge, answersDueMs, lateParticipants, startMerge } from "./merging.ts";
import {
  assignWaiting,
  beginWhenGathered,
  loseNode,
  onDisconnected,
  onJoin,
  onReady,
  onReconnected,
  silentNodes,
} from "./roster.ts";
import {
  closeRun,
  continueUpload,
  finish,
  finishRound,
  lateUploaders,
  onCheckpointFailed,
  onCheckpointWritten,
  onMergeRepeated,
  onParametersUploaded,
} from "./rounds.ts";
import type { Member, OrchestratorState } from "./state.ts";
import {
  closeStep,
  expireLeases,
  lateSealers,
  onStepSealed,
  onTaskDone,
  onTaskFailed,
  releaseEffect,
  roundIsOver,
  sealStep,
} from "./steps.ts";
import { leaseWork, openStep } from "./wiring.ts";

export const orchestrator: Machine<OrchestratorState, OrchestratorEvent, OrchestratorEffect> = {
  step(state, event, nowMs) {
    if (state.phase === "finished") return event.type === "messageReceived" ? releaseEffect(event.segments) : [];
    return [...take(state, event, nowMs), ...runDue(state, nowMs), ...advance(state, nowMs)];
  },
  nextDeadlineMs,
  assertInvariants,
};

/** Books what happened; acting on it is `advance`'s. */
function take(state: OrchestratorState, event: OrchestratorEvent, nowMs: number): OrchestratorEffect[] {
  switch (event.type) {
    case "nodeConnected":
      return event.resumed ? onReconnected(state, event.node) : [];
    case "nodeDisconnected":
      return onDisconnected(state, { node: event.node, nowMs });
    case "messageReceived":
      return onMessage(state, event);
    case "faultReceived":
      return event.node === null
        ? [record({ type: "faultSeen", node: null, code: event.fault.code, detail: event.fault.detail })]
        : reject(event.node, event.fault);
    case "sliceRefereed":
      return onSliceRefereed(state, { ...event, nowMs });
    case "mergeRefereed": {
      const { round, stage, parameters, momentum } = event;
      onMergeRepeated(state, { round, stage, merged: { parameters, momentum } });
      return onMergeRefereed(state, { round, stage, merged: { parameters, momentum } });
    }
    case "checkpointWritten":
      return onCheckpointWritten(state, event);
    case "checkpointFailed":
      return onCheckpointFailed(state, event);
    case "stopRequested":
      return finish(state, { finished: false, reason: event.reason });
    case "tick":
      return [];
    default:
      return unreachable(event);
  }
}

function onMessage(
  state: OrchestratorState,
  options: { node: NodeId; message: NodeMessage; segments: readonly BlobRef[] },
): OrchestratorEffect[] {
  const { node, message, segments } = options;
  if (message.type === "join") return [...releaseEffect(segments), ...onJoin(state, { node, message })];
  const member = state.members.get(node);
  if (member === undefined) {
    const stranger = fault("wrongPhase", `Cannot take ${message.type} as the first message must be join`);
    return [...releaseEffect(segments), ...reject(node, stranger)];
  }
  if (message.type === "taskDone") return onTaskDone(state, { member, message, segments });
  return [...releaseEffect(segments), ...onPlainMessage(state, { member, message })];
}

function onPlainMessage(
  state: OrchestratorState,
  options: { member: Member; message: Exclude<NodeMessage, { type: "join" | "taskDone" }> },
): OrchestratorEffect[] {
  const { member, message } = options;
  switch (message.type) {
    case "ready":
      return onReady(state, { member, message });
    case "taskFailed":
      return onTaskFailed(state, { member, message });
    case "stepSealed":
      return onStepSealed(state, { member, message });
    case "payloadCommitted":
      return onPayloadCommitted(state, { member, message });
    case "sliceReduced":
      return onSliceReduced(state, { member, message });
    case "mergeApplied":
      return onMergeApplied(state, { member, message });
    case "mergeFailed":
      return onMergeFailed(state, { member, message });
    case "parametersUploaded":
      return onParametersUploaded(state, { member, message });
    case "evaluated":
      return onEvaluated(state, { member, message });
    case "replayed":
      return onReplayed(state, { member, message });
    case "requestFailed":
      return onRequestFailed(state, { member, message });
    case "leaving":
      return loseNode(state, { node: member.node, reason: message.reason });
    default:
      return unreachable(message);
  }
}

/** Everything whose deadline has passed. */
function runDue(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  const lose = (node: NodeId, reason: string) => {
    effects.push(
      { type: "disconnect", node, fault: fault("staleResult", reason) },
      ...loseNode(state, { node, reason }),
    );
  };
  const { limits } = state.config;
  for (const node of silentNodes(state, nowMs)) lose(node, `silent for ${limits.disconnectGraceMs} ms`);
  for (const node of lateSealers(state, nowMs)) lose(node, `no gradient within ${limits.leaseMs} ms`);
  for (const node of lateUploaders(state, nowMs)) lose(node, `no parameters within ${limits.mergePhaseMs} ms`);
  for (const node of lateParticipants(state, nowMs)) {
    lose(node, `no answer in the merge within ${limits.mergePhaseMs} ms`);
  }
  return [...effects, ...expireLeases(state, nowMs)];
}

/** Phases that may follow each other without an event between them; more is a loop. */
const mostTurns = 64;

/** Acts on the state until nothing more can be done: phases first, then work for whoever is free. */
function advance(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase === "finished") return [];
  const effects = [...assignWaiting(state), ...beginWhenGathered(state, nowMs)];
  for (let turns = 0;; turns++) {
    assert(turns < mostTurns, "Phases must come to rest");
    const moved = [
      ...openWork(state, nowMs),
      ...sealStep(state, nowMs),
      ...closeStep(state, nowMs),
      ...advanceMerge(state, nowMs),
      ...finishRound(state, nowMs),
    ];
    effects.push(...moved);
    if (moved.length === 0) break;
  }
  effects.push(
    ...continueUpload(state, nowMs),
    ...leaseWork(state, nowMs),
    ...requestAudits(state),
    ...settleRounds(state),
  );
  return [...effects, ...closeRun(state, nowMs)];
}

/** What comes after a closed step: the next one, or the merge that ends the round. */
function openWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "training" || state.work !== null) return [];
  if (roundIsOver(state)) return state.upload === null ? startMerge(state, nowMs) : [];
  openStep(state, nowMs);
  return [];
}

function nextDeadlineMs(state: OrchestratorState): number | null {
  if (state.phase === "finished") return null;
  let earliest = Infinity;
  const consider = (deadlineMs: number | null | undefined) => {
    if (deadlineMs !== null && deadlineMs !== undefined) earliest = Math.min(earliest, deadlineMs);
  };
  if (state.phase === "gathering") consider(state.gatherUntilMs);
  if (state.phase === "closing") consider(state.closeUntilMs);
  for (const member of state.members.values()) consider(member.graceUntilMs);
  for (const item of state.work?.leased.values() ?? []) consider(item.lease?.deadlineMs);
  consider(state.work?.sealDeadlineMs);
  for (const stage of state.upload?.stages ?? []) {
    if (!stage.stored && stage.asked !== "hub") consider(stage.deadlineMs);
  }
  for (const merge of state.merge?.stages ?? []) consider(answersDueMs(merge));
  return earliest === Infinity ? null : earliest;
}
