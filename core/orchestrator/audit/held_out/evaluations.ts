/**
 * How the run decides among evaluations. Two validators evaluate each round; if they disagree, or agree on an unusual
 * loss, a third does. Two against one is not a majority vote: the run believes the side nearer to the training loss of
 * the same parameters, or none if that is the single one. A run with one validator believes it.
 */

import { fault } from "../../../fault.ts";
import type { NodeId } from "../../../ids.ts";
import type { Evaluated } from "../../../protocol/audit_messages.ts";
import { queuedAudits } from "../audit_queue.ts";
import { passOn, takeRunning } from "../audit_requests.ts";
import { type AuditRequest, closeRequest, type EvaluateRequest, type Evaluation } from "../audit_state.ts";
import { type OrchestratorEffect, record } from "../../event.ts";
import { onTried } from "./payload_trials.ts";
import { isDoubtful, noteEvaluation, trainedLoss } from "./evaluated_rounds.ts";
import type { OrchestratorState } from "../../state.ts";

export const wanted = 2; // answers
const mostAnswers = 3;
const tolerance = 0.01; // of the larger loss; adapters differ by less than a thousandth

export function onEvaluated(
  state: OrchestratorState,
  { validator, answer: { request: id, loss, tokens, signature }, nowMs }: {
    validator: NodeId;
    answer: Evaluated;
    nowMs: number;
  },
): OrchestratorEffect[] {
  const subject = state.audit.running.get(id)?.subject;
  const request = takeRunning(state, { validator, request: id, nowMs });
  const answer: Evaluation = { validator, loss: loss ?? Infinity, tokens, signature };
  if (subject?.type !== "model") return [];
  const { parameters } = subject;
  if (request?.type === "trial") return onTried(state, { request, answer, parameters });
  if (request?.type !== "evaluate" || request.isProbe) return [];
  const { round } = request;
  const text = `Validator ${validator} finds that the held-out loss of round ${round} is not finite`;
  return [
    record(loss === null ? { type: "warning", text } : { type: "evaluated", round, validator, loss, tokens }),
    { type: "log", entry: { type: "evaluated", round, validator, loss, tokens, parameters, signature } },
    ...onAnswer(state, { request, answer }),
  ];
}

function onAnswer(
  state: OrchestratorState,
  { request, answer }: { request: EvaluateRequest; answer: Evaluation },
): OrchestratorEffect[] {
  const { answers, round } = request;
  answers.push(answer);
  const agreed = agreedOn(answers);
  const isOpen = agreed === null || isDoubtful(state, { round, loss: agreed });
  const needsMore = answers.length < wanted || (isOpen && answers.length < mostAnswers);
  if (needsMore && passOn(state, { request, validator: answer.validator })) return [];
  if (!needsMore) closeRequest(state.audit, request);
  return settleEvaluation(state, request);
}

/** At the end of the run. An answer too late to be checked by another validator is reported, not believed. */
export function endEvaluation(state: OrchestratorState, request: EvaluateRequest): OrchestratorEffect[] {
  const { proven, silent } = state.audit;
  const mayAnswer = (node: NodeId) => proven.has(node) && !silent.has(node) && !request.tried.includes(node);
  const isUnchecked = request.answers.length === 1 && [...state.validators].some(mayAnswer);
  if (!isUnchecked) return settleEvaluation(state, request);
  return dispute(state, { request, why: "; the run ended before another validator answered" });
}

export function isBeingEvaluated({ audit: { queue, running, disputes } }: OrchestratorState, round: number): boolean {
  const open = [...queuedAudits(queue), ...[...running.values()].map(({ request }) => request), ...disputes];
  return roundsOf(open).includes(round);
}

/** Rounds whose loss may soon be reported. Validators that missed a deadline are not waited for. */
export function awaitedEvaluations({ audit: { queue, running, silent }, validators }: OrchestratorState): number[] {
  const open = [
    ...queuedAudits(queue).filter(({ tried }) =>
      [...validators].some((node) => !silent.has(node) && !tried.includes(node))
    ),
    ...[...running.values()].flatMap(({ validator, request }) => silent.has(validator) ? [] : [request]),
  ];
  return roundsOf(open);
}

const roundsOf = (requests: readonly AuditRequest[]): number[] =>
  requests.flatMap((request) => request.type === "evaluate" && !request.isProbe ? [request.round] : []);

/** The loss that two validators agree on; with one validator, its loss. */
function agreedOn(answers: readonly Evaluation[]): number | null {
  const [first] = answers;
  if (first !== undefined && answers.length === 1) return first.loss;
  for (const [i, a] of answers.entries()) {
    if (answers.some((b, j) => j > i && isNear(a.loss, b.loss))) return a.loss;
  }
  return null;
}

const isNear = (a: number, b: number): boolean =>
  a === b || Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b)) && Number.isFinite(a + b);

export function settleEvaluation(state: OrchestratorState, request: EvaluateRequest): OrchestratorEffect[] {
  const { round, answers } = request;
  if (answers.length === 0) return [];
  const agreed = agreedOn(answers);
  if (agreed === null) return dispute(state, { request, why: "" });
  const others = answers.filter(({ loss }) => !isNear(loss, agreed));
  if (others.length > 0) {
    const trained = trainedLoss(state, round);
    if (trained === null) {
      state.audit.disputes.push(request);
      return [];
    }
    const isOtherNearer = others.some(({ loss }) => distance(loss, trained) < distance(agreed, trained));
    if (isOtherNearer) return dispute(state, { request, why: `; training found ${lossText(trained)}` });
  }
  return [
    ...believe(state, { round, agreed, validators: answers.length - others.length }),
    ...nameOthers({ round, agreed, others }),
  ];
}

/** Names validators contradicted by two others and by training. */
function nameOthers(
  { round, agreed, others }: { round: number; agreed: number; others: readonly Evaluation[] },
): OrchestratorEffect[] {
  return others.map(({ validator, loss }) => {
    const { code, detail } = fault(
      "badNumbers",
      `Two other validators found a held-out loss of ${lossText(agreed)} for round ${round}; ` +
        `this one reports ${lossText(loss)}`,
    );
    return record({ type: "faultSeen", node: validator, code, detail });
  });
}

const distance = (a: number, b: number): number => a === b ? 0 : Math.abs(a - b);

const lossText = (loss: number): string => Number.isFinite(loss) ? loss.toFixed(4) : "a non-finite value";

function believe(
  state: OrchestratorState,
  { round, agreed, validators }: { round: number; agreed: number; validators: number },
): OrchestratorEffect[] {
  const { facts } = state;
  if (Number.isFinite(agreed)) {
    facts.heldOutFirst ??= agreed;
    if ((facts.heldOutLast?.round ?? -1) <= round) facts.heldOutLast = { round, loss: agreed };
    if ((facts.heldOutDisputed?.round ?? Infinity) <= round) facts.heldOutDisputed = null;
  }
  return noteEvaluation(state, { round, loss: agreed, validators });
}

function dispute(
  state: OrchestratorState,
  { request: { round, answers }, why }: { request: EvaluateRequest; why: string },
): OrchestratorEffect[] {
  state.facts.heldOutDisputed = { round, answers: [...answers] };
  const said = answers.map(({ validator, loss }) => `${validator} says ${lossText(loss)}`).join(", ");
  const what = answers.length === 1 ? "Only one validator found" : "Validators disagree on";
  const text = `${what} the held-out loss of round ${round}: ${said}${why}`;
  return [record({ type: "warning", text })];
}

export function settleDisputes(state: OrchestratorState): OrchestratorEffect[] {
  const { disputes } = state.audit;
  if (disputes.length === 0) return [];
  return disputes.splice(0).flatMap((request) => {
    const isOver = request.round < state.round && trainedLoss(state, request.round) === null; // the run rolled back
    return isOver ? dispute(state, { request, why: "" }) : settleEvaluation(state, request);
  });
}
