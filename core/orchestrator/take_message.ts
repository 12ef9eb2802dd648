/**
 * A node's message: checked against its role and its position in the run, then passed to its module. No message is
 * refused silently.
 */

import { unreachable } from "../assert.ts";
import type { WireScale } from "../codec/wire.ts";
import { fault } from "../fault.ts";
import type { BlobRef, NodeId } from "../ids.ts";
import type { NodeMessage, Role } from "../protocol/message.ts";
import { onRequestFailed } from "./audit/auditing.ts";
import { onStateShown } from "./audit/shown_states.ts";
import { noteRefused } from "./members/blame.ts";
import { onAnswer } from "./audit/signed_answers.ts";
import { type OrchestratorEffect, reject, releaseEffect } from "./event.ts";
import { onAskToLeave } from "./members/departing.ts";
import { onReady } from "./members/catching_up.ts";
import { onLoading } from "./members/loading.ts";
import { onMergeApplied, onMergeFailed, onPayloadCommitted, onSliceReduced } from "./merge/merge_answers.ts";
import { onLoadFailed, onUploaded } from "./merge/restoring.ts";
import { onJoin, onLeaving } from "./members/roster.ts";
import { roleFault } from "./role_check.ts";
import { onStepSealed } from "./step/sealing.ts";
import type { Member, OrchestratorState } from "./state.ts";
import { onTaskDone, onTaskFailed } from "./step/task_results.ts";
import { noteHeard } from "./members/talk.ts";

interface ReceivedMessage {
  readonly node: NodeId;
  readonly role: Role;
  readonly message: NodeMessage;
  readonly segments: readonly BlobRef[];
  readonly scale: WireScale;
  readonly nowMs: number;
}

export function takeMessage(state: OrchestratorState, received: ReceivedMessage): OrchestratorEffect[] {
  return boundRefusals(state, { node: received.node, effects: onMessage(state, received) });
}

/** Answers and records refused messages, while they are few enough to be read. */
export function boundRefusals(
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
  options: ReceivedMessage,
): OrchestratorEffect[] {
  const { node, role, message, segments, scale, nowMs } = options;
  const excess = noteHeard(state, { node, nowMs });
  if (excess !== null) return [...releaseEffect(segments), ...reject(node, excess)];
  const lie = roleFault(message, { role, member: state.members.get(node) ?? null });
  if (lie !== null) return [...releaseEffect(segments), ...reject(node, lie)];
  if (message.type === "join") return [...releaseEffect(segments), ...onJoin(state, { node, message, nowMs })];
  if (state.expelled.has(node)) return releaseEffect(segments); // sent before the ban
  const member = state.members.get(node);
  if (member === undefined) {
    if (message.type === "leaving") return releaseEffect(segments); // it has left already
    const stranger = fault("wrongPhase", `The first message must be join, and is ${message.type}`);
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
