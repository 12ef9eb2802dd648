/**
 * Audits of whole gradients: the norm that a miner committed is recomputed from all the tasks it committed.
 *
 * Outputs alone do not prove that a miner kept the gradients that went with them, and its reported norm decides how far
 * everybody steps. So some of the steps whose tasks are audited (auditing.ts, shown_states.ts) are sampled for this
 * too, when the miner's commitment is in and nothing can be added to its gradient. A validator repeats the gradient
 * tasks in the committed order and reports the norm of their sum, without knowing the claim, so that it cannot answer
 * without repeating. A difference beyond core/score/gradient_verdict.ts is handled like a failed task: a second
 * validator, then the arbiter.
 *
 * Only exactly repeatable gradients are sampled: of a member that still has the assignment of all its tasks, whose
 * wires are all there and none of them recomputed. Out of scope: the parts of a request (gradient_parts.ts). Invariant:
 * as in audit_state.ts, each gradient counts as open in its round.
 */

import { fault } from "../../fault.ts";
import type { NodeId } from "../../ids.ts";
import { isDrawn } from "../../prng.ts";
import { present } from "../../assert.ts";
import type { GradientRepeated } from "../../protocol/audit_messages.ts";
import { judgeGradient, leastShare } from "../../score/gradient_verdict.ts";
import { type OrchestratorEffect, reject, send } from "../event.ts";
import { stepsOfRound } from "../merge/round_length.ts";
import type { Member, OrchestratorState } from "../state.ts";
import type { SealedGradient, StepWork } from "../step/step_state.ts";
import { flowOf } from "../step/wiring.ts";
import { passOn, sendRequest, takeRunning } from "./audit_requests.ts";
import {
  type AuditRequest,
  closeRequest,
  type GradientReplay,
  type GradientTask,
  type RepetitionRequest,
  type SignedAnswer,
} from "./audit_state.ts";
import { chanceToShow } from "./drawn_miners.ts";
import { giveOn } from "./giving_on.ts";
import { askReferee } from "./referee.ts";
import { proofOfGradient, proofWord } from "./work_proof.ts";
import { actOnVerdict, type ValidatorsWord } from "./verdict_actions.ts";

const mostTasks = 256; // of a gradient: the cost of one repetition by the orchestrator
const longAway = 64; // rounds

/**
 * Gradients of the closing step that validators recompute, from these miners: a random sample, and all outliers among
 * them.
 */
export function drawGradients(
  state: OrchestratorState,
  { work, of, odd }: { work: StepWork; of: Iterable<NodeId>; odd: ReadonlySet<NodeId> },
): Map<NodeId, GradientReplay> {
  const drawn = new Map<NodeId, GradientReplay>();
  const { round, stream, config: { validate: { gradientsPerRound } }, audit: { recomputed } } = state;
  if (gradientsPerRound === 0) return drawn;
  const share = shareOfStep(state);
  for (const node of of) {
    const chance = share * chanceInRound({ gradientsPerRound, round, last: recomputed.get(node) ?? null });
    if (!isDrawn(stream, chance) && (!odd.has(node) || recomputed.get(node) === round)) continue;
    const replay = confirmedGradient(state, { work, node, isOdd: odd.has(node) });
    if (replay === null) continue;
    drawn.set(node, replay);
    recomputed.set(node, round);
  }
  return drawn;
}

/**
 * The open step's share of a round's gradient audits once its tasks are audited, so that each step has the same chance,
 * however rarely it is audited. Otherwise a cheat could keep its gradients only in the steps that are audited most.
 */
export function shareOfStep(state: OrchestratorState): number {
  if (state.config.validate.statesPerRound === 0) return 1; // only first steps are audited
  const isFirst = state.step === state.roundFirstStep;
  return 1 / (stepsOfRound(state) * (isFirst ? 1 : Math.min(1, chanceToShow(state))));
}

const growth = 2 / 3; // with this the mean wait is 1 / `gradientsPerRound` rounds, within 6 %

/**
 * The probability starts at half of the mean and grows with the rounds since the miner's gradient was last repeated:
 * nobody is spared for long, and nobody is safe after a repetition. New and long-absent miners get the average
 * probability.
 */
export function chanceInRound(
  { gradientsPerRound: mean, round, last }: { gradientsPerRound: number; round: number; last: number | null },
): number {
  if (mean >= 1 || last === null) return mean;
  if (last === round) return 0;
  return Math.min(1, mean / 2 + growth * mean ** 2 * (round - last));
}

/** Called as a round begins. */
export function forgetRecomputed({ audit: { recomputed }, members, round }: OrchestratorState): void {
  for (const [node, last] of recomputed) if (round - last > longAway && !members.has(node)) recomputed.delete(node);
}

/** The member's commitment, if it can be repeated exactly; null otherwise. */
function confirmedGradient(
  state: OrchestratorState,
  { work, node, isOdd }: { work: StepWork; node: NodeId; isOdd: boolean },
): GradientReplay | null {
  const member = state.members.get(node);
  const sealed = work.sealed.get(node);
  if (member === undefined || sealed === undefined || member.status !== "active") return null;
  const { stage, stepTasks: [task] } = member;
  if (stage === null || task === undefined || state.replaced.has(stage)) return null;
  const tasks = gradientTasks(state, { work, member, sealed });
  if (tasks === null) return null;
  const usual = state.gradientSquares[stage] ?? 0; // of a mean over a replica's tasks
  return {
    round: state.round,
    step: state.step,
    miner: node,
    task,
    stage,
    direction: present(work.credited.get(task), "a credited task is in the table").direction,
    tasks,
    squareSum: sealed.squareSum,
    least: leastShare * usual * tasks.length ** 2,
    isOdd,
    change: null,
    receipt: sealed.receipt,
  };
}

function gradientTasks(
  state: OrchestratorState,
  { work, member, sealed }: { work: StepWork; member: Member; sealed: SealedGradient },
): GradientTask[] | null {
  const { node, assignment, stepTasks } = member;
  if (stepTasks.length !== sealed.tasks || stepTasks.length > mostTasks) return null;
  const tasks: GradientTask[] = [];
  for (const task of stepTasks) {
    const item = present(work.credited.get(task), "a credited task is in the table");
    const { microbatch, stage, direction } = item;
    const { wires, gradients, isRemade } = flowOf(state, item);
    const input = stage === 0 ? null : wires[stage - 1] ?? null;
    const gradient = direction === "turnaround" ? null : gradients[stage + 1] ?? null;
    const isWhole = (stage === 0 || input !== null) && (direction === "turnaround" || gradient !== null);
    if (isRemade || !isWhole || item.doneBy !== node || item.doneIn !== assignment) return null;
    tasks.push({ microbatch, input, gradient });
  }
  return tasks;
}

interface PartDone {
  readonly validator: NodeId;
  readonly request: number;
  readonly nowMs: number;
}

/** A part without a norm is done: the next one follows. */
export function onGradientPart(
  state: OrchestratorState,
  { validator, request: id, nowMs }: PartDone,
): OrchestratorEffect[] {
  const running = state.audit.running.get(id);
  const request = takeRunning(state, { validator, request: id, nowMs });
  if (request === null || running === undefined) return [];
  const done = running.first + running.tasks;
  if (request.type !== "gradient" || done === request.replay.tasks.length) {
    return notTheNorm(state, { request, id, validator });
  }
  return [sendRequest(state, { validator, request, first: done, nowMs })];
}

/** The last part is done: the norm is compared with the committed one. */
export function onGradientRepeated(
  state: OrchestratorState,
  { validator, answer, isProven, nowMs }: {
    validator: NodeId;
    answer: GradientRepeated & SignedAnswer;
    isProven: boolean; // its miner has signed for the norm
    nowMs: number;
  },
): OrchestratorEffect[] {
  const { request: id, squareSum } = answer;
  const running = state.audit.running.get(id);
  const request = takeRunning(state, { validator, request: id, nowMs });
  if (request?.type !== "gradient" || running?.subject.type !== "gradient" || squareSum === null) return [];
  if (running.first + running.tasks !== request.replay.tasks.length) {
    return notTheNorm(state, { request, id, validator });
  }
  const { squareSum: claimed, least } = request.replay;
  const { step, parameters } = running.subject;
  const proof = isProven ? proofOfGradient(request.replay) : null;
  const word = { step, parameters, signature: answer.signature, ...proofWord(proof) };
  return [
    send(validator, { type: "gradientClaimed", request: id, claimed, least }),
    ...judge(state, { request, found: squareSum, validator, word }),
  ];
}

function notTheNorm(
  state: OrchestratorState,
  { request, id, validator }: { request: AuditRequest; id: number; validator: NodeId },
): OrchestratorEffect[] {
  const detail = `The answer to request ${id} has a norm, which only the last part of a gradient has`;
  return [...giveOn(state, { request, validator }), ...reject(validator, fault("wrongPhase", detail))];
}

function judge(
  state: OrchestratorState,
  { request, found, validator, word }: {
    request: Extract<RepetitionRequest, { type: "gradient" }>;
    found: number;
    validator: NodeId;
    word: ValidatorsWord;
  },
): OrchestratorEffect[] {
  const { replay, isSecond } = request;
  const verdict = judgeGradient(replay, { claimed: replay.squareSum, found, least: replay.least });
  if (verdict.type === "failed" && !isSecond) passOn(state, { request: { ...request, isSecond: true }, validator });
  else closeRequest(state.audit, request);
  const effects = actOnVerdict(state, { verdict, validator, word });
  if (verdict.type === "failed") askReferee(state, { work: { type: "gradient", replay }, accuser: validator });
  return effects;
}
