/**
 * The orchestrator: one event in, effects out. Dispatches to the modules of this folder and runs what is due.
 * No message is refused silently: one from a stranger, from the wrong role or at the wrong time is answered with `reject`.
 */

import { assert, unreachable } from "../assert.ts";
import type { WireScale } from "../codec/wire.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import type { Machine } from "../protocol/machine.ts";
import type { NodeMessage, Role } from "../protocol/message.ts";
import { nextAlarm } from "./alarms.ts";
import { requestAudits } from "./audit/audit_requests.ts";
import { onAuditAlarm, onRequestFailed, settleRounds } from "./audit/auditing.ts";
import { offerTrials, onEndLaid } from "./audit/held_out/payload_trials.ts";
import { onStateChecked, onStateShown } from "./audit/shown_states.ts";
import { onRefereed, refereeNext } from "./audit/referee.ts";
import { noteRefused } from "./members/blame.ts";
import { leaseWork } from "./step/dispatch.ts";
import { endWhenDone } from "./step/early_end.ts";
import { onAnswer, onSignaturesChecked } from "./audit/signed_answers.ts";
import { settleDisputes } from "./audit/held_out/evaluations.ts";
import { type OrchestratorEffect, type OrchestratorEvent, reject, send } from "./event.ts";
import { expelConvicted, restWithholders } from "./members/expulsion.ts";
import { assertInvariants } from "./invariants.ts";
import { onOverdue } from "./step/overdue.ts";
import { dismissDeparted, onAskToLeave } from "./members/departing.ts";
import { activateCaughtUp, askToFollow, onReady } from "./members/catching_up.ts";
import { onLoading, onLoadingAlarm } from "./members/loading.ts";
import {
  onMergeApplied,
  onMergeFailed,
  onMergeRefereed,
  onPayloadCommitted,
  onSliceReduced,
  onSliceRefereed,
  onSliceUnavailable,
} from "./merge/merge_answers.ts";
import { mendMerges, onBlobsChecked } from "./merge/mending.ts";
import { endLateAnswers } from "./merge/merge_deadlines.ts";
import { advanceMerge, startMerge } from "./merge/merging.ts";
import { roundIsOver } from "./merge/round_length.ts";
import { onUploadChecked } from "./merge/believed_upload.ts";
import { onPayloadChecked } from "./merge/payloads/payload_check.ts";
import { coverStages } from "./members/rebalance.ts";
import { changeSettings, onRestarted } from "./restart.ts";
import { onBroughtBack, onLoadFailed, onMergeUnavailable, onUploaded, restoreAbandoned } from "./merge/restoring.ts";
import { restartRound, retakeRound } from "./merge/retake.ts";
import { continueHalted, endHalt, onUploadsProbed, repeatLostRound } from "./merge/losses/lost_rounds.ts";
import { repeatLostProgress } from "./merge/losses/lost_progress.ts";
import {
  assignWaiting,
  beginWhenGathered,
  isLost,
  onDisconnected,
  onDismissed,
  onJoin,
  onLeaving,
  onReconnected,
} from "./members/roster.ts";
import { nextDeadlineMs } from "./next_deadline.ts";
import { roleFault } from "./role_check.ts";
import { closeRun } from "./closing.ts";
import { finishRound } from "./merge/rounds.ts";
import { onWiresCompared } from "./step/remaking.ts";
import { onSealAlarm, onStepSealed, requestSeals } from "./step/sealing.ts";
import type { Alarm, Member, OrchestratorState } from "./state.ts";
import { closeStep, onTaskDone, onTaskFailed, releaseEffect } from "./step/steps.ts";
import {
  continueUpload,
  onCheckpointFailed,
  onCheckpointWritten,
  onMergeRepeated,
  replaceLateUploaders,
} from "./merge/uploads.ts";
import { openStep } from "./step/wiring.ts";
import { sendNotices } from "./members/notices.ts";
import { noteAsked, noteHeard } from "./members/talk.ts";
import { recordUnserved, unservedStages } from "./members/unserved.ts";

export const orchestrator: Machine<OrchestratorState, OrchestratorEvent, OrchestratorEffect> = {
  step(state, event, nowMs) {
    if (state.phase === "finished") return afterTheEnd(event);
    const unserved = event.type === "restarted" ? [] : unservedStages(state); // who shows the run begins anew
    const effects = [...take(state, event, nowMs), ...runDue(state, nowMs), ...advance(state, nowMs)];
    effects.push(...recordUnserved(state, unserved));
    noteAsked(state, effects);
    return effects;
  },
  nextDeadlineMs,
  assertInvariants,
};

/** Latecomers learn that the run is over; a process started after the end exits at once. */
function afterTheEnd(event: OrchestratorEvent): OrchestratorEffect[] {
  if (event.type === "restarted") return [{ type: "finish", finished: true, reason: "all steps are done" }];
  if (event.type !== "messageReceived") return [];
  const isLate = event.message.type === "join";
  const stop = send(event.node, { type: "stop", finished: true, reason: "the run is over" });
  return isLate ? [...releaseEffect(event.segments), stop] : releaseEffect(event.segments);
}

/** Books the event; `advance` acts on it. */
function take(state: OrchestratorState, event: OrchestratorEvent, nowMs: number): OrchestratorEffect[] {
  switch (event.type) {
    case "nodeConnected":
      return event.resumed ? onReconnected(state, { node: event.node, nowMs }) : [];
    case "nodeDisconnected":
      return onDisconnected(state, { node: event.node, nowMs });
    case "nodeDismissed":
      return onDismissed(state, { ...event, nowMs });
    case "messageReceived":
      return boundRefusals(state, { node: event.node, effects: onMessage(state, { ...event, nowMs }) });
    case "faultReceived":
      return boundRefusals(state, { node: event.node, effects: reject(event.node, event.fault) });
    case "uploadChecked":
      return onUploadChecked(state, event);
    case "payloadChecked":
      return onPayloadChecked(state, event);
    case "sliceRefereed":
      return onSliceRefereed(state, { ...event, nowMs });
    case "sliceUnavailable":
      return onSliceUnavailable(state, event);
    case "blobsChecked":
      return onBlobsChecked(state, { ...event, nowMs });
    case "mergeUnavailable":
      return onMergeUnavailable(state, event);
    case "mergeRefereed": {
      const { parameters, momentum, ...made } = event;
      const refereed = { ...made, merged: { parameters, momentum } };
      return [...onMergeRepeated(state, refereed), ...onMergeRefereed(state, refereed)];
    }
    case "stageRestored":
    case "earlierRoundFound":
      return onBroughtBack(state, event);
    case "checkpointWritten":
      return onCheckpointWritten(state, { ...event, nowMs });
    case "checkpointFailed":
      return onCheckpointFailed(state, { ...event, nowMs });
    case "stateChecked":
      return onStateChecked(state, event);
    case "endLaid":
      return onEndLaid(state, event);
    case "wiresCompared":
      return onWiresCompared(state, event);
    case "taskRefereed":
    case "gradientRefereed":
      return onRefereed(state, event);
    case "signaturesChecked":
      return onSignaturesChecked(state, { ...event, nowMs });
    case "restarted":
      return onRestarted(state, { changes: event.changes ?? [], lost: event.lost ?? [], nowMs });
    case "uploadsProbed":
      return onUploadsProbed(state, { refusal: event.refusal, nowMs });
    case "roundRetried":
      return endHalt(state, nowMs);
    case "settingsChanged":
      return changeSettings(state, event.changes);
    case "tick":
      return [];
    default:
      return unreachable(event);
  }
}

/** Answers and records refused messages, while they are few enough to be read. */
function boundRefusals(
  state: OrchestratorState,
  { node, effects }: { node: NodeId; effects: OrchestratorEffect[] },
): OrchestratorEffect[] {
  const faultOf = (effect: OrchestratorEffect) =>
    effect.type === "record" && effect.record.type === "faultSeen" && effect.record.node === node
      ? effect.record.code
      : null;
  const code = effects.map(faultOf).find((each) => each !== null);
  if (code === undefined || noteRefused(state, { node, isLate: code === "staleResult" })) return effects;
  const isAnswer = (effect: OrchestratorEffect) =>
    effect.type === "send" && effect.to === node && effect.message.type === "reject";
  return effects.filter((effect) => faultOf(effect) === null && !isAnswer(effect));
}

function onMessage(
  state: OrchestratorState,
  options: {
    node: NodeId;
    role: Role;
    message: NodeMessage;
    segments: readonly BlobRef[];
    scale: WireScale;
    nowMs: number;
  },
): OrchestratorEffect[] {
  const { node, role, message, segments, scale, nowMs } = options;
  const excess = noteHeard(state, { node, nowMs });
  if (excess !== null) return [...releaseEffect(segments), ...reject(node, excess)];
  const lie = roleFault(message, { role, member: state.members.get(node) ?? null });
  if (lie !== null) return [...releaseEffect(segments), ...reject(node, lie)];
  if (message.type === "join") return [...releaseEffect(segments), ...onJoin(state, { node, message, nowMs })];
  if (state.expelled.has(node)) return releaseEffect(segments); // sent before the expulsion
  const member = state.members.get(node);
  if (member === undefined) {
    if (message.type === "leaving") return releaseEffect(segments); // it has left already
    const stranger = fault("wrongPhase", `Cannot accept ${message.type} as the first message must be join`);
    return [...releaseEffect(segments), ...reject(node, stranger)];
  }
  if (message.type === "taskDone") {
    return onTaskDone(state, { member, result: { message, segments, scale }, nowMs });
  }
  return [...releaseEffect(segments), ...onPlainMessage(state, { member, message, nowMs })];
}

function onPlainMessage(
  state: OrchestratorState,
  options: { member: Member; message: Exclude<NodeMessage, { type: "join" | "taskDone" }>; nowMs: number },
): OrchestratorEffect[] {
  const { member, message, nowMs } = options;
  switch (message.type) {
    case "loading":
      return onLoading(state, { member, message, nowMs });
    case "ready":
      return onReady(state, { member, message });
    case "loadFailed":
      return onLoadFailed(state, { member, message });
    case "taskFailed":
      return onTaskFailed(state, { member, message, nowMs });
    case "stepSealed":
      return onStepSealed(state, { member, message });
    case "stateShown":
      return onStateShown(state, { member, message });
    case "payloadCommitted":
      return onPayloadCommitted(state, { member, message, nowMs });
    case "sliceReduced":
      return onSliceReduced(state, { member, message, nowMs });
    case "mergeApplied":
      return onMergeApplied(state, { member, message, nowMs });
    case "mergeFailed":
      return onMergeFailed(state, { member, message, nowMs });
    case "parametersUploaded":
      return onUploaded(state, { member, message });
    case "evaluated":
    case "replayed":
    case "gradientRepeated":
      return onAnswer(state, { member, message, nowMs });
    case "requestFailed":
      return onRequestFailed(state, { member, message, nowMs });
    case "askToLeave":
      return onAskToLeave(state, member);
    case "leaving":
      return onLeaving(state, { member, reason: message.reason, nowMs });
    default:
      return unreachable(message);
  }
}

/** Handles everything whose deadline has passed. */
function runDue(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (let alarm = nextAlarm(state, nowMs); alarm !== null; alarm = nextAlarm(state, nowMs)) {
    effects.push(...onAlarm(state, { alarm, nowMs }));
  }
  return [...effects, ...replaceLateUploaders(state, nowMs), ...endLateAnswers(state, nowMs)];
}

function onAlarm(state: OrchestratorState, { alarm, nowMs }: { alarm: Alarm; nowMs: number }): OrchestratorEffect[] {
  switch (alarm.type) {
    case "lease":
      return onOverdue(state, { task: alarm.task, nowMs });
    case "seal": {
      const { node } = alarm;
      const { effects, isLost: isLate } = onSealAlarm(state, { node, nowMs });
      const reason = `no gradient within ${state.config.limits.leaseMs} ms`;
      return isLate ? throwOut(state, { node, reason, nowMs }) : effects;
    }
    case "silence":
      if (!isLost(state, { node: alarm.node, nowMs })) return [];
      return throwOut(state, { node: alarm.node, reason: "it did not come back in time", nowMs });
    case "audit":
      return onAuditAlarm(state, { id: alarm.request, nowMs });
    case "loading":
      if (!onLoadingAlarm(state, { ...alarm, nowMs })) return [];
      return throwOut(state, { node: alarm.node, reason: "it made no progress in loading its stage", nowMs });
    default:
      return unreachable(alarm);
  }
}

/** The node may join again. */
function throwOut(
  state: OrchestratorState,
  { node, reason, nowMs }: { node: NodeId; reason: string; nowMs: number },
): OrchestratorEffect[] {
  return onDismissed(state, { node, fault: fault("staleResult", reason), reason, nowMs });
}

/** Most phases that may follow each other without an event in between; more is a loop. */
const mostTurns = 64;

/** Acts on the state until nothing more can be done: phases first, then work for free replicas. */
function advance(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase === "finished") return sendNotices(state);
  const effects = [
    ...settleDisputes(state),
    ...retakeRound(state),
    ...restartRound(state),
    ...continueHalted(state, nowMs),
    ...repeatLostProgress(state),
    ...endWhenDone(state, nowMs),
    ...coverStages(state, nowMs),
    ...restoreAbandoned(state),
    ...assignWaiting(state, nowMs),
    ...activateCaughtUp(state),
    ...beginWhenGathered(state, nowMs),
  ];
  for (let turns = 0;; turns++) {
    assert(turns < mostTurns, "Phases must come to rest");
    const moved = [
      ...openWork(state, nowMs),
      ...closeStep(state, nowMs),
      ...advanceMerge(state, nowMs),
      ...repeatLostRound(state, nowMs),
      ...expelConvicted(state, nowMs),
      ...restWithholders(state, nowMs),
      ...coverStages(state, nowMs), // a member just sent away may have been the last of its stage
      ...assignWaiting(state, nowMs),
      ...mendMerges(state),
      ...finishRound(state, nowMs),
      ...dismissDeparted(state, nowMs),
    ];
    effects.push(...moved);
    if (moved.length === 0) break;
  }
  effects.push(
    ...continueUpload(state, nowMs),
    ...askToFollow(state, nowMs),
    ...leaseWork(state, nowMs),
    ...requestSeals(state, nowMs),
  );
  offerTrials(state);
  effects.push(...requestAudits(state, nowMs), ...refereeNext(state), ...settleRounds(state));
  return [...effects, ...closeRun(state, nowMs), ...sendNotices(state)];
}

/** Starts what follows a closed step: the next one, or the merge that ends the round. */
function openWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "training" || state.work !== null || state.losses.halt !== null) return [];
  if (roundIsOver(state)) return state.upload === null ? startMerge(state, nowMs) : [];
  return openStep(state, nowMs);
}
