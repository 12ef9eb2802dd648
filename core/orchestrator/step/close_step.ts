/**
 * The end of an optimizer step, once every microbatch is complete and every contributor has committed its gradient
 * (sealing.ts). Clipping uses the norm over the whole model (gradient_norm.ts).
 */

import { present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { auditFirstStep } from "../audit/auditing.ts";
import { isAudited } from "../audit/validator_places.ts";
import { drawTasks } from "../audit/drawn_tasks.ts";
import { drawGradients } from "../audit/gradient_audits.ts";
import { drawMiners } from "../audit/drawn_miners.ts";
import { awaitStates } from "../audit/shown_states.ts";
import { noteFirstLoss } from "../audit/held_out/evaluated_rounds.ts";
import { evaluateIfWorse } from "../audit/held_out/evaluation_pace.ts";
import { rosterOf } from "../members/replicas.ts";
import { type OrchestratorEffect, record, releaseEffect, send } from "../event.ts";
import { gradientNorm } from "./gradient_norm.ts";
import { settleMakings } from "./remaking.ts";
import { noteStep } from "../merge/round_length.ts";
import { keepOutcome, outcomeOf } from "./outcomes.ts";
import { extendChain } from "./receipts.ts";
import { isSealed } from "./sealing.ts";
import { logStep } from "../run_log.ts";
import type { OrchestratorState } from "../state.ts";
import { lossOf, type StepOutcome } from "./step_outcome.ts";
import type { StepWork } from "./step_state.ts";
import { countWork } from "../audit/work_report.ts";

export function closeStep(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work } = state;
  if (work === null || !isSealed(work)) return [];
  const isFirst = state.step === state.roundFirstStep;
  const settled = settleMakings(state, work);
  const gradient = gradientNorm(state, work);
  const shows = isFirst || !isAudited(state) ? new Set<NodeId>() : drawMiners(state, work);
  const keepsWires = isFirst ? isAudited(state) : shows.size > 0;
  const outcome = outcomeOf(state, { work, gradient, keepsWires, nowMs });
  const drawn = drawTasks(state, { outcome, work, of: shows });
  const repeatable = isFirst && keepsWires ? work.contributors : drawn.keys();
  const gradients = drawGradients(state, { work, of: repeatable, odd: gradient.odd });
  const ofAll = isFirst ? drawTasks(state, { outcome, work, of: null }) : null;
  const reach = state.roundRates;
  countStep(state, outcome);
  noteStep(state, { outcome, nowMs });
  if (isFirst) noteFirstLoss(state, outcome.pathways.map(lossOf));
  const effects: OrchestratorEffect[] = [
    ...settled,
    ...gradient.effects,
    ...sendHeaders(state, { work, outcome, drawn }),
    stepClosed(state, outcome),
    logStep(outcome, state),
  ];
  for (const node of work.contributors) present(state.members.get(node), "a contributor").stepTasks = [];
  state.work = null;
  if (isFirst) evaluateIfWorse(state);
  state.step += 1;
  if (!isFirst) outcome.wires = null; // an audit holds those that it needs
  const unused = keepOutcome(state, { outcome, work });
  effects.push(...releaseEffect(awaitStates(state, { drawn, gradients, step: outcome.step, reach, refs: unused })));
  if (ofAll !== null) effects.push(...auditFirstStep(state, { drawn: ofAll, gradients }));
  return effects;
}

function countStep(state: OrchestratorState, outcome: StepOutcome): void {
  const { counters, facts } = state;
  const { loss, tokens, learningRate } = outcome;
  counters.microbatchesCredited += outcome.pathways.length;
  counters.tokens += tokens;
  facts.lossFirst ??= loss;
  facts.lossLast = loss;
  state.roundRates += learningRate;
  countWork(state, outcome);
}

function stepClosed({ config }: OrchestratorState, outcome: StepOutcome): OrchestratorEffect {
  const { step, round, loss, learningRate, gradientNorm, clipFactor, tokens, stepMs } = outcome;
  const { steps } = config.train;
  const measured = { loss, learningRate, gradientNorm, clipFactor, tokens, stepMs };
  return record({ type: "stepClosed", step: step + 1, steps, round, ...measured });
}

/** Every node that may hold a gradient learns whether it counts. */
function sendHeaders(
  state: OrchestratorState,
  { work, outcome: { step, learningRate, clipFactor }, drawn }: {
    work: StepWork;
    outcome: StepOutcome;
    drawn: ReadonlyMap<NodeId, unknown>; // for opening their parameters
  },
): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const node of new Set([...work.touched, ...drawn.keys()])) {
    const member = state.members.get(node);
    if (member === undefined || member.status !== "active") continue;
    const tasks = member.stepTasks.length;
    const shows = drawn.has(node);
    const before = member.header?.step ?? null;
    if (tasks > 0) {
      member.header = { step, tasks, learningRate, clipFactor, before, shows };
      extendChain(state, { member, work });
    }
    member.roundTasks += tasks;
    if (tasks > 0) member.roundSteps += 1;
    rosterOf(state, present(member.stage, "an active member has a stage")).progress += tasks;
    effects.push(send(node, { type: "applyStep", step, tasks, learningRate, clipFactor, shows }));
  }
  return effects;
}
