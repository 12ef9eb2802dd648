/**
 * Optimizer steps: results come in, and when the step is sealed its header goes out.
 *
 * A step closes only when every microbatch went all the way and every contributor confirmed its gradient (sealing.ts).
 * Clipping uses the norm over the whole model (gradient_norm.ts).
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { BlobRef, NodeId } from "../../ids.ts";
import type { TaskFailed } from "../../protocol/message.ts";
import { auditFirstStep } from "../audit/auditing.ts";
import { isAudited } from "../audit/validator_places.ts";
import { drawTasks } from "../audit/drawn_tasks.ts";
import { drawGradients } from "../audit/gradient_audits.ts";
import { drawMiners } from "../audit/drawn_miners.ts";
import { awaitStates } from "../audit/shown_states.ts";
import { noteFirstLoss } from "../audit/held_out/evaluated_rounds.ts";
import { evaluateIfWorse } from "../audit/held_out/evaluation_pace.ts";
import { blame, noteFulfilled } from "../members/blame.ts";
import { noteTrip } from "../members/places.ts";
import { rosterOf } from "../members/replicas.ts";
import { type OrchestratorEffect, record, reject, send } from "../event.ts";
import { reach } from "../marks.ts";
import { gradientNorm } from "./gradient_norm.ts";
import { acceptResult, releaseLease } from "./leases.ts";
import { isAgreed, isContested, isHopeless, noteClaims, reloadStage, settleRefusals } from "./refusals.ts";
import { compareMakings, mayRemake, remake, settleMakings } from "./remaking.ts";
import { noteStep } from "../merge/round_length.ts";
import { keepOutcome, outcomeOf } from "./outcomes.ts";
import { remakeIfLeft } from "./overdue.ts";
import { extendChain } from "./receipts.ts";
import { isUsable, judgeResult, type TaskResult } from "./result_check.ts";
import { noteWire } from "./scale_book.ts";
import { isSealed } from "./sealing.ts";
import { logStep } from "../run_log.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { lossOf, type StepFaultType, type StepOutcome } from "./step_outcome.ts";
import { type Lease, noteFault, type StepWork, type WorkItem } from "./step_state.ts";
import { countWork } from "../audit/work_report.ts";

/** The lease that a message refers to, if it belongs to the sender. */
function heldBy(
  state: OrchestratorState,
  { member, task }: { member: Member; task: Lease["task"] },
): { item: WorkItem; held: Lease } | null {
  const item = state.work?.leased.get(task);
  const held = item?.leases.find((each) => each.task === task && each.node === member.node);
  return item === undefined || held === undefined ? null : { item, held };
}

export function onTaskDone(
  state: OrchestratorState,
  { member, result, nowMs }: { member: Member; result: TaskResult; nowMs: number },
): OrchestratorEffect[] {
  const { message, segments, scale } = result;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) {
    const stale = fault("staleResult", `${message.task} was given to another or its step has closed`);
    return [...releaseEffect(segments), ...reject(member.node, stale)];
  }
  const { item, held } = leased;
  const judged = judgeResult(state, { item, result });
  if (judged.type !== "fine") noteTaskFault(state, { type: judged.type, held });
  if (judged.type === "misshapen") {
    return [
      ...releaseEffect(segments),
      ...reject(member.node, fault("badNumbers", judged.detail)),
      ...blame(state, { node: member.node, fault: fault("badNumbers", judged.detail) }),
      ...releaseLease(state, { item, held, reason: judged.detail, nowMs }),
    ];
  }
  if (judged.type === "implausible") {
    const { doubt } = judged;
    item.refused.push({ node: member.node, doubt });
    const isTaken = isAgreed(state, { item, result, doubt, sender: member.node });
    if (!isTaken || mayRemake(state, { item, why: "agreed" })) {
      return [
        ...releaseEffect(segments),
        ...releaseLease(state, { item, held, reason: doubt.detail, nowMs, isInDoubt: true }),
        ...(isTaken || isHopeless(state, item) ? tryOtherwise(state, item) : remakeIfLeft(state, item)),
      ];
    }
    reach(state, "refusal: taken, as all replicas doubt it");
  } else if (isContested(state, { item, result, doer: member.node }) && mayRemake(state, { item, why: "contested" })) {
    noteClaims(state, { item, result, doer: member.node });
    const reason = "others could not compute with its input, which is being made again";
    return [
      ...releaseEffect(segments),
      ...releaseLease(state, { item, held, reason, nowMs, isInDoubt: true }),
      ...remake(state, { item, isUnanimous: false }),
    ];
  }
  item.isDoubtful = judged.type === "implausible";
  const output = segments[0] ?? null;
  const settled = settleRefusals(state, { item, doer: member.node, result });
  const { unused, effects } = acceptResult(state, { item, held, member, output, losses: message.losses, nowMs });
  const { stage, direction } = item;
  const wire = { node: member.node, scale };
  if (output !== null) noteWire(present(state.scales.stages[stage], "every stage has scales"), { direction, wire });
  noteFulfilled(state, { node: member.node, duty: "tasks" });
  if (held.isAlone && item.direction !== "backward") {
    noteTrip(member, { tookMs: nowMs - held.leasedMs, computeMs: message.computeMs });
  }
  const compared = output === null || unused.length > 0 ? [] : compareMakings(state, { item, last: output });
  return [
    finished(state, { item, held, computeMs: message.computeMs, nowMs }),
    ...settled,
    ...effects,
    ...compared,
    ...releaseEffect(unused),
  ];
}

function finished(
  { work }: OrchestratorState,
  { item, held, computeMs, nowMs }: { item: WorkItem; held: Lease; computeMs: number; nowMs: number },
): OrchestratorEffect {
  const { stage, direction, microbatch } = item;
  const { task, node, leasedMs } = held;
  const tookMs = Math.round(nowMs - leasedMs);
  return record({
    ...{ type: "taskFinished", task, node, stage, direction, microbatch },
    sentMs: Math.round(leasedMs - present(work, "an open step").startedMs),
    tookMs,
    computeMs: Math.min(tookMs, Math.round(computeMs)),
  });
}

function noteTaskFault(
  state: OrchestratorState,
  { type, held: { node, task } }: { type: StepFaultType; held: Lease },
): void {
  noteFault(present(state.work, "an open step"), { type, node, task });
}

/** Every replica has failed the item: its input is remade; if that does not help, the stage is reloaded. */
function tryOtherwise(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  const why = item.refused.some(({ doubt }) => isUsable(doubt)) ? "agreed" : "hopeless";
  return mayRemake(state, { item, why }) ? remake(state, { item, isUnanimous: true }) : reloadStage(state, item);
}

/** A task's input was checked on arrival, so a miner that refuses it is wrong. */
export function onTaskFailed(
  state: OrchestratorState,
  options: { member: Member; message: TaskFailed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message, nowMs } = options;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) return [];
  noteTaskFault(state, { type: "failed", held: leased.held });
  const { code, detail } = message.fault;
  const wrong = `Cannot refuse ${message.task} as the hub has checked its input: the reason given was: ${detail}`;
  return [
    record({ type: "faultSeen", node: member.node, code, detail }),
    ...blame(state, { node: member.node, fault: fault(code, wrong) }),
    ...releaseLease(state, { ...leased, reason: detail, nowMs }),
  ];
}

/** Sends the step header once every contributor has confirmed; everything else about the step is in its outcome. */
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
  if (!isFirst) outcome.wires = null; // those that an audit needs are held by it
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

/** Nodes that may hold a gradient learn what becomes of it; if none of their tasks counts, it is discarded. So do those drawn. */
function sendHeaders(
  state: OrchestratorState,
  { work, outcome: { step, learningRate, clipFactor }, drawn }: {
    work: StepWork;
    outcome: StepOutcome;
    drawn: ReadonlyMap<NodeId, unknown>; // to show their parameters
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

export function releaseEffect(refs: readonly BlobRef[]): OrchestratorEffect[] {
  return refs.length === 0 ? [] : [{ type: "release", refs }];
}
