/**
 * Optimizer steps: results come in, and when the step is sealed its header goes out.
 *
 * A step closes only when every microbatch went all the way and every contributor confirmed its gradient (sealing.ts). Clipping uses the global norm: the sum over stages of the mean over replicas of ||g||^2, so with one
 * replica a stage it equals single-process training.
 */

import { assert, present } from "../assert.ts";
import { fault } from "../fault.ts";
import type { BlobRef } from "../ids.ts";
import { wireBytes } from "../model/spec.ts";
import type { TaskDone, TaskFailed } from "../protocol/message.ts";
import { clipFactor, learningRateAt } from "../train/schedule.ts";
import { holdForAudit } from "./auditing.ts";
import { type OrchestratorEffect, record, reject, send } from "./event.ts";
import { acceptResult, releaseLease } from "./leases.ts";
import { replicasOf } from "./replicas.ts";
import { isSealed } from "./sealing.ts";
import { type Member, type OrchestratorState, tokensPerMicrobatch } from "./state.ts";
import type { Lease, StepWork, WorkItem } from "./step_state.ts";
import { countWork } from "./work_report.ts";

/** The lease a message speaks of, if it is the sender's. */
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
  options: { member: Member; message: TaskDone; segments: readonly BlobRef[]; nowMs: number },
): OrchestratorEffect[] {
  const { member, message, segments, nowMs } = options;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) {
    const stale = fault("staleResult", `Cannot take ${message.task} as it must be leased to the sender`);
    return [...releaseEffect(segments), ...reject(member.node, stale)];
  }
  const { item, held } = leased;
  const wrong = wrongResult(state, { item, message, segments });
  if (wrong !== null) {
    return [
      ...releaseEffect(segments),
      ...reject(member.node, fault("badNumbers", wrong)),
      ...releaseLease(state, { item, held, reason: wrong, nowMs }),
    ];
  }
  const output = segments[0] ?? null;
  const { unused, effects } = acceptResult(state, { item, held, member, output, losses: message.losses, nowMs });
  const { stage, direction, microbatch } = item;
  return [
    record({ type: "taskFinished", task: message.task, node: member.node, stage, direction, microbatch }),
    ...effects,
    ...releaseEffect(unused),
  ];
}

/** Why a result cannot be right, by shape alone; null when it may be. */
function wrongResult(
  state: OrchestratorState,
  options: { item: WorkItem; message: TaskDone; segments: readonly BlobRef[] },
): string | null {
  const { item, message, segments } = options;
  const spec = present(state.stages[item.stage], "the item's stage");
  const wire = item.direction === "forward" ? spec.wireOut : spec.wireIn;
  const expected = wire === null ? null : wireBytes(spec, wire);
  const got = segments[0]?.bytes ?? null;
  if (segments.length > 1 || got !== expected) {
    return `Cannot take ${message.task} as its output must be ${expected ?? 0} bytes: current value is ${got ?? 0}`;
  }
  if (item.direction !== "turnaround") return null;
  const sequences = state.config.train.sequencesPerMicrobatch;
  const { losses } = message;
  if (losses === null || losses.length !== sequences || !losses.every((loss) => Number.isFinite(loss) && loss >= 0)) {
    return `Cannot take ${message.task} as it must report ${sequences} finite losses`;
  }
  return null;
}

export function onTaskFailed(
  state: OrchestratorState,
  options: { member: Member; message: TaskFailed; nowMs: number },
): OrchestratorEffect[] {
  const { member, message, nowMs } = options;
  const leased = heldBy(state, { member, task: message.task });
  if (leased === null) return [];
  return [
    record({ type: "faultSeen", node: member.node, ...message.fault }),
    ...releaseLease(state, { ...leased, reason: message.fault.detail, nowMs }),
  ];
}

/** Global squared norm of the mean gradient: sum over stages of the mean over replicas. */
function globalSquareSum(state: OrchestratorState, work: StepWork): number {
  const { sealed, departed } = work;
  let total = 0;
  for (const spec of state.stages) {
    let sum = 0;
    let count = 0;
    for (const member of replicasOf(state, spec.index)) {
      const own = sealed.get(member.node);
      if (own === undefined) continue;
      sum += own.squareSum / own.tasks ** 2;
      count += 1;
    }
    for (const { stage, squareSum, tasks } of departed) {
      if (stage !== spec.index) continue;
      sum += squareSum / tasks ** 2;
      count += 1;
    }
    assert(count > 0, `Cannot close a step as stage ${spec.index} must have a contributor`);
    state.gradientSquares[spec.index] = sum / count;
    total += sum / count;
  }
  return total;
}

function meanLoss(work: StepWork): number {
  let sum = 0;
  for (const flow of work.flows) {
    const losses = present(flow.losses, "a finished flow has losses");
    sum += losses.reduce((a, b) => a + b, 0) / losses.length;
  }
  return sum / work.flows.length;
}

/** Sends the step header once every contributor has confirmed. */
export function closeStep(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work, config, counters, facts } = state;
  if (work === null || !isSealed(work)) return [];
  const squareSum = globalSquareSum(state, work);
  const learningRate = learningRateAt({ config: config.train, step: state.step });
  const clip = clipFactor({ squareSum, clipNorm: config.train.clipNorm });
  const loss = meanLoss(work);
  const tokens = work.flows.length * tokensPerMicrobatch(config);
  counters.microbatchesCredited += work.flows.length;
  counters.tokens += tokens;
  facts.lossFirst ??= loss;
  facts.lossLast = loss;
  const effects: OrchestratorEffect[] = [
    ...sendHeaders(state, { work, learningRate, clipFactor: clip }),
    record({
      type: "stepClosed",
      step: state.step + 1,
      steps: config.train.steps,
      round: state.round,
      loss,
      learningRate,
      gradientNorm: Math.sqrt(squareSum),
      clipFactor: clip,
      tokens,
      stepMs: nowMs - work.startedMs,
    }),
  ];
  const refs = work.flows.flatMap((flow) => [...flow.wires, ...flow.gradients].filter((ref) => ref !== null));
  effects.push(...(state.step === state.roundFirstStep ? holdForAudit(state, { work, refs }) : releaseEffect(refs)));
  for (const node of work.contributors) present(state.members.get(node), "a contributor").stepTasks = [];
  countWork(state, work);
  state.work = null;
  state.step += 1;
  return effects;
}

/** Whoever may hold a gradient hears what becomes of it; with no task that counts it is thrown away. */
function sendHeaders(
  state: OrchestratorState,
  { work, learningRate, clipFactor }: { work: StepWork; learningRate: number; clipFactor: number },
): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const node of work.touched) {
    const member = state.members.get(node);
    if (member === undefined || member.status !== "active") continue;
    const tasks = member.stepTasks.length;
    const { step } = state;
    if (tasks > 0) member.header = { step, tasks, learningRate, clipFactor, before: member.header?.step ?? null };
    member.roundTasks += tasks;
    state.progress += tasks;
    effects.push(send(node, { type: "applyStep", step, tasks, learningRate, clipFactor }));
  }
  return effects;
}

/** After the last step of a round, or of the run, comes a merge. */
export function roundIsOver(state: OrchestratorState): boolean {
  const { steps, stepsPerRound } = state.config.train;
  return state.step > state.roundFirstStep && (state.step % stepsPerRound === 0 || state.step >= steps);
}

export function releaseEffect(refs: readonly BlobRef[]): OrchestratorEffect[] {
  return refs.length === 0 ? [] : [{ type: "release", refs }];
}
