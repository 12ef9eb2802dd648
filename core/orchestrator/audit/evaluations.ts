/**
 * What validators say of a round's parameters, and what the run believes of it.
 *
 * Where there are two validators or more, two evaluate each round, on the same held-out text with the same parameters. When
 * they agree, that is the round's loss; when they do not, a third decides, and without one the run says both and believes
 * neither. With a single validator its word is all there is.
 */

import { fault } from "../../fault.ts";
import type { Evaluated } from "../../protocol/message.ts";
import { passOn, takeRunning } from "./audit_requests.ts";
import { type AuditRequest, closeRequest, type Evaluation } from "./audit_state.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { noteEvaluation } from "./evaluated_rounds.ts";
import type { Member, OrchestratorState } from "../state.ts";

type EvaluateRequest = Extract<AuditRequest, { type: "evaluate" }>;

const wanted = 2;
const mostAnswers = 3;
const tolerance = 0.01; // of the larger loss; adapters differ by less than a thousandth

export function onEvaluated(
  state: OrchestratorState,
  options: { member: Member; message: Evaluated; nowMs: number },
): OrchestratorEffect[] {
  const { member: { node: validator }, message: { loss, tokens, request: id } } = options;
  const request = takeRunning(state, { ...options, request: id });
  if (request?.type !== "evaluate") return [];
  if (request.isProbe) return [];
  request.answers.push({ validator, loss });
  const said = record({ type: "evaluated", round: request.round, validator, loss, tokens });
  const agreed = agreedOn(request.answers);
  const needsMore = request.answers.length < wanted || (agreed === null && request.answers.length < mostAnswers);
  if (needsMore && passOn(state, { request, validator })) return [said];
  if (!needsMore) closeRequest(state.audit, request);
  return [said, ...settleEvaluation(state, request)];
}

/** The loss that two say; the only one when there is one. */
function agreedOn(answers: readonly Evaluation[]): number | null {
  const [first] = answers;
  if (first !== undefined && answers.length === 1) return first.loss;
  for (const [i, a] of answers.entries()) {
    if (answers.some((b, j) => j > i && isNear(a.loss, b.loss))) return a.loss;
  }
  return null;
}

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));

/** Nobody more will be asked. */
export function settleEvaluation(
  state: OrchestratorState,
  { round, answers }: EvaluateRequest,
): OrchestratorEffect[] {
  if (answers.length === 0) return [];
  const { facts } = state;
  const agreed = agreedOn(answers);
  if (agreed === null) {
    facts.heldOutDisputed = { round, answers: [...answers] };
    const said = answers.map(({ validator, loss }) => `${validator} says ${loss.toFixed(4)}`).join(", ");
    return [record({ type: "warning", text: `Validators disagree on the held-out loss of round ${round}: ${said}` })];
  }
  facts.heldOutFirst ??= agreed;
  if ((facts.heldOutLast?.round ?? -1) <= round) facts.heldOutLast = { round, loss: agreed };
  if ((facts.heldOutDisputed?.round ?? Infinity) <= round) facts.heldOutDisputed = null;
  const validators = answers.filter(({ loss }) => isNear(loss, agreed)).length;
  const noted = noteEvaluation(state, { round, loss: agreed, validators });
  const faults = answers.flatMap(({ validator, loss }) => {
    if (isNear(loss, agreed)) return [];
    const { code, detail } = fault(
      "badNumbers",
      `Cannot believe the held-out loss of round ${round} as two other validators say ${agreed.toFixed(4)}: ` +
        `this one says ${loss.toFixed(4)}`,
    );
    return [record({ type: "faultSeen", node: validator, code, detail })];
  });
  return [...noted, ...faults];
}
