/**
 * A validator's answer waits in its request until its signature is checked, a millisecond on another thread. A wrong
 * signature is a proven fault, because it came on the validator's own session.
 */

import { unreachable } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import type { Evaluated, GradientRepeated, Replayed } from "../../protocol/audit_messages.ts";
import { statementOf } from "../../statements/findings.ts";
import type { SignedStatement } from "../../statements/statement.ts";
import { type OrchestratorEffect, reject } from "../event.ts";
import { blame } from "../members/blame.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { takeRunning } from "./audit_requests.ts";
import { isRepetition, type SignedAnswer } from "./audit_state.ts";
import { onReplayed } from "./auditing.ts";
import { onEvaluated } from "./held_out/evaluations.ts";
import { giveOn } from "./giving_on.ts";
import { onGradientPart, onGradientRepeated } from "./gradient_audits.ts";
import { receiptToCheck } from "./work_proof.ts";

export function onAnswer(
  state: OrchestratorState,
  { member, message, nowMs }: { member: Member; message: Evaluated | Replayed | GradientRepeated; nowMs: number },
): OrchestratorEffect[] {
  const { node } = member;
  const running = state.audit.running.get(message.request);
  if (running?.validator !== node) {
    takeRunning(state, { validator: node, request: message.request, nowMs }); // late, but it answers
    return [];
  }
  if (running.answer !== null) return [];
  if (message.type === "gradientRepeated" && message.squareSum === null) {
    return onGradientPart(state, { validator: node, request: message.request, nowMs });
  }
  const statement = statementOf(running.subject, message);
  if (statement === null || message.signature === null) {
    const request = takeRunning(state, { validator: node, request: message.request, nowMs });
    const detail = `The answer to request ${message.request} does not match the request, or has no signature`;
    return [
      ...(request === null ? [] : giveOn(state, { request, validator: node })),
      ...reject(node, fault("wrongPhase", detail)),
    ];
  }
  const answer: SignedAnswer = { ...message, signature: message.signature };
  running.answer = answer;
  const signed: SignedStatement = { signer: node, statement, signature: message.signature };
  const ofMiner = receiptToCheck(state, { request: running.request, answer });
  return [{
    type: "checkSignatures",
    request: message.request,
    signed: ofMiner === null ? [signed] : [signed, ofMiner],
  }];
}

/** `areGenuine`: for the checked signatures, in order. */
export function onSignaturesChecked(
  state: OrchestratorState,
  { request: id, areGenuine, nowMs }: { request: number; areGenuine: readonly boolean[]; nowMs: number },
): OrchestratorEffect[] {
  const running = state.audit.running.get(id);
  if (running === undefined || running.answer === null) return []; // dropped meanwhile
  const { validator, answer } = running;
  const [isAnswer, isReceipt] = areGenuine;
  if (isAnswer === true) {
    const forged = isReceipt === false && isRepetition(running.request) ? running.request.replay.miner : null;
    return [
      ...(forged === null ? [] : blameForged(state, forged)),
      ...onChecked(state, { validator, answer, isProven: isReceipt === true, nowMs }),
    ];
  }
  const request = takeRunning(state, { validator, request: id, nowMs });
  const detail = `The answer to request ${id} is not signed by ${validator}`;
  return [
    ...(request === null ? [] : giveOn(state, { request, validator })),
    ...blame(state, { node: validator, fault: fault("unauthenticated", detail) }),
  ];
}

/** A step's commitment came on its miner's session, so a false signature in it is the miner's. */
function blameForged(state: OrchestratorState, miner: NodeId): OrchestratorEffect[] {
  if (!state.members.has(miner)) return [];
  const detail = `What ${miner} delivered is not signed by ${miner}`;
  return blame(state, { node: miner, fault: fault("unauthenticated", detail) });
}

function onChecked(
  state: OrchestratorState,
  { validator, answer, isProven, nowMs }: {
    validator: NodeId;
    answer: SignedAnswer;
    isProven: boolean;
    nowMs: number;
  },
): OrchestratorEffect[] {
  switch (answer.type) {
    case "evaluated":
      return onEvaluated(state, { validator, answer, nowMs });
    case "replayed":
      return onReplayed(state, { validator, answer, isProven, nowMs });
    case "gradientRepeated":
      return onGradientRepeated(state, { validator, answer, isProven, nowMs });
    default:
      return unreachable(answer);
  }
}
