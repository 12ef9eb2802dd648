/**
 * Validators' answers count once their signatures are checked: what they find is logged with their own word for it.
 *
 * Owns the answers in between. The check takes a millisecond of another thread (cli/hub), so an answer waits in its request,
 * which stays with its validator. A validator that is gone by then is asked no more, and another repeats the work. A wrong
 * signature is a proven fault: the session that it came on is the validator's.
 */

import { unreachable } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { Evaluated, GradientRepeated, Replayed } from "../../protocol/audit_messages.ts";
import { statementOf } from "../../statements/findings.ts";
import type { SignedStatement } from "../../statements/statement.ts";
import { type OrchestratorEffect, reject } from "../event.ts";
import { blame } from "../members/blame.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { takeRunning } from "./audit_requests.ts";
import type { SignedAnswer } from "./audit_state.ts";
import { onReplayed } from "./auditing.ts";
import { onEvaluated } from "./evaluations.ts";
import { giveOn } from "./giving_on.ts";
import { onGradientPart, onGradientRepeated } from "./gradient_audits.ts";

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
    const detail = `Cannot accept the answer to request ${message.request} as it must answer what was asked, signed`;
    return [
      ...(request === null ? [] : giveOn(state, { request, validator: node })),
      ...reject(node, fault("wrongPhase", detail)),
    ];
  }
  running.answer = { ...message, signature: message.signature };
  const signed: SignedStatement = { signer: node, statement, signature: message.signature };
  return [{ type: "checkSignatures", request: message.request, signed: [signed] }];
}

/** `areGenuine`: of the signatures that were to be checked, in order. */
export function onSignaturesChecked(
  state: OrchestratorState,
  { request: id, areGenuine, nowMs }: { request: number; areGenuine: readonly boolean[]; nowMs: number },
): OrchestratorEffect[] {
  const running = state.audit.running.get(id);
  if (running === undefined || running.answer === null) return []; // dropped meanwhile
  const { validator, answer } = running;
  if (areGenuine[0] === true) return onChecked(state, { validator, answer, nowMs });
  const request = takeRunning(state, { validator, request: id, nowMs });
  const detail = `Cannot accept the answer to request ${id} as its signature must be that of ${validator}`;
  return [
    ...(request === null ? [] : giveOn(state, { request, validator })),
    ...blame(state, { node: validator, fault: fault("unauthenticated", detail) }),
  ];
}

function onChecked(
  state: OrchestratorState,
  { validator, answer, nowMs }: { validator: Member["node"]; answer: SignedAnswer; nowMs: number },
): OrchestratorEffect[] {
  switch (answer.type) {
    case "evaluated":
      return onEvaluated(state, { validator, answer, nowMs });
    case "replayed":
      return onReplayed(state, { validator, answer, nowMs });
    case "gradientRepeated":
      return onGradientRepeated(state, { validator, answer, nowMs });
    default:
      return unreachable(answer);
  }
}
