/** A job's work for the device, and the answer to the orchestrator. */

import { assert, present, unreachable } from "../assert.ts";
import type { Fault } from "../fault.ts";
import type { BlobRef, TaskId } from "../ids.ts";
import { joinWarmup } from "../train/schedule.ts";
import { type LoggedTask, type MinerEffect, type MinerResult, type MinerWork, record, release, send } from "./event.ts";
import { commitPayload, extendChain, noteDelivered, sealStep } from "./signing.ts";
import type { Job, MinerState, SideJob } from "./state.ts";

export function workOf(state: MinerState, job: Job): MinerWork {
  switch (job.type) {
    case "loadStage":
      return job.work;
    case "runTask":
      return { type: "runTask", direction: job.direction, input: job.input, second: job.second };
    case "sealStep":
      return { type: "sealGradients", replay: replayFor(state, job.tasks) };
    case "applyStep": {
      if (job.tasks === 0) return { type: "zeroGradients" };
      const { joinWarmupSteps } = present(state.config, "a joined miner has a config").train;
      const ramp = state.isRamping ? joinWarmup({ localSteps: state.localSteps, joinWarmupSteps }) : 1;
      return { type: "applyStep", learningRate: job.learningRate * ramp, gradientScale: job.clipFactor / job.tasks };
    }
    case "copyState":
      return { type: "copyState", round: job.round, step: job.step };
    case "formPayload":
      return { type: "formPayload", slices: job.slices };
    case "applyMerge":
      return { type: "applyMerge", round: job.round + 1, slices: job.slices };
    default:
      return unreachable(job);
  }
}

/**
 * Null if the accumulated tasks are those that count; otherwise those that count, in the orchestrator's order. A task
 * missing from the log was cancelled; the orchestrator will ask again.
 */
function replayFor(state: MinerState, tasks: readonly TaskId[]): LoggedTask[] | null {
  const byTask = new Map(state.log.map((entry) => [entry.task, entry]));
  const counting = tasks.flatMap((task) => byTask.get(task) ?? []);
  const isSame = counting.length === state.log.length && counting.every((entry, i) => entry === state.log[i]);
  return isSame ? null : counting;
}

export function jobDone(state: MinerState, options: { job: Job; result: MinerResult }): MinerEffect[] {
  const { job, result } = options;
  switch (job.type) {
    case "loadStage":
      assert(result.type === "loadStage", "a load answers a load");
      return stageLoaded(state, { job, result });
    case "runTask":
      assert(result.type === "runTask", "a task answers a task");
      return taskComputed(state, { job, result });
    case "sealStep":
      assert(result.type === "sealGradients", "a commitment answers a request to commit");
      return sealed(state, { job, squareSum: result.squareSum });
    case "applyStep":
      return stepApplied(state, job);
    case "copyState": {
      const work = { type: "uploadState", round: job.round, step: job.step } as const;
      return [beside(state, work, work)];
    }
    case "formPayload":
      assert(result.type === "formPayload", "a payload answers a payload");
      return [commitPayload(state, { round: job.round, slices: result.slices, payload: result.hash })];
    case "applyMerge": {
      state.isMerging = false;
      assert(result.type === "applyMerge", "a merge answers a merge");
      state.round = job.round + 1;
      if (state.localSteps === 0) state.isRamping = true; // a newcomer that catches up
      const { parameters, momentum } = result;
      state.merged = { type: "mergeApplied", round: state.round, parameters, momentum };
      return [
        record({ type: "roundMerged", round: state.round, parameters: parameters.hash }),
        send(state.merged),
      ];
    }
    default:
      return unreachable(job);
  }
}

export function refsOf(job: Job): BlobRef[] {
  if (job.type !== "runTask") return [];
  return job.second === null ? [job.input] : [job.input, job.second];
}

export function beside(
  state: MinerState,
  job: SideJob,
  work: MinerWork,
): MinerEffect {
  const id = state.jobs++;
  state.side.set(id, job);
  return { type: "perform", job: id, work };
}

function stageLoaded(
  state: MinerState,
  options: { job: Extract<Job, { type: "loadStage" }>; result: Extract<MinerResult, { type: "loadStage" }> },
): MinerEffect[] {
  const { job: { assignment, work }, result } = options;
  const stage = present(state.stage, "a loaded miner has a stage");
  state.assignment = assignment;
  state.countedStep = null;
  state.localSteps = result.localSteps;
  state.isRamping = work.source.type !== "initial" && result.localSteps === 0;
  state.wasReplayed = false;
  const begins: { optimizer?: "empty" } = state.isRamping ? { optimizer: "empty" } : {};
  return [
    record({ type: "stageLoaded", stage, round: state.round, parameters: result.parameters.hash, ...begins }),
    send({ type: "ready", assignment, parameters: result.parameters, ...begins }),
  ];
}

function taskComputed(
  state: MinerState,
  options: { job: Extract<Job, { type: "runTask" }>; result: Extract<MinerResult, { type: "runTask" }> },
): MinerEffect[] {
  const { job, result } = options;
  const { task, direction, input, second } = job;
  const { output, losses, computeMs } = result;
  const loss = losses === null ? null : losses.reduce((a, b) => a + b, 0) / losses.length;
  const attachments = output === null ? [] : [output];
  noteDelivered(state, { job, result });
  const effects: MinerEffect[] = [
    record({ type: "taskComputed", task, direction, computeMs, loss }),
    send({ type: "taskDone", task, losses, computeMs }, attachments),
    ...release(attachments),
  ];
  if (second === null) return [...effects, ...release([input])];
  state.log.push({ task, direction, input, second });
  return effects;
}

function sealed(
  state: MinerState,
  options: { job: Extract<Job, { type: "sealStep" }>; squareSum: number },
): MinerEffect[] {
  const { job, squareSum } = options;
  const replayed = replayFor(state, job.tasks);
  const effects: MinerEffect[] = [];
  if (replayed !== null) {
    const kept = new Set(replayed);
    const dropped = state.log.filter((entry) => !kept.has(entry));
    effects.push(...release(dropped.flatMap((entry) => [entry.input, entry.second])));
    state.log = replayed;
    state.wasReplayed = true;
  }
  return [
    ...effects,
    sealStep(state, { job, squareSum }),
  ];
}

function stepApplied(state: MinerState, job: Extract<Job, { type: "applyStep" }>): MinerEffect[] {
  const refs = state.log.flatMap((entry) => [entry.input, entry.second]);
  const applied = record({ type: "stepApplied", step: job.step, tasks: job.tasks, replayed: state.wasReplayed });
  state.log = [];
  state.wasReplayed = false;
  if (job.tasks > 0) {
    state.localSteps += 1;
    state.countedStep = job.step;
    extendChain(state, job.step);
  }
  return [...release(refs), applied];
}

/** The owner sees a failed upload. */
export function mergeFailed(round: number, fault: Fault): MinerEffect[] {
  const { upload } = fault;
  const told = upload === undefined ? [] : [record({ type: "uploadFailed", round, upload })];
  return [send({ type: "mergeFailed", round, fault }), ...told];
}

export function jobFailed(state: MinerState, options: { job: Job; fault: Fault }): MinerEffect[] {
  const { job, fault } = options;
  switch (job.type) {
    case "runTask":
      return [send({ type: "taskFailed", task: job.task, fault })];
    case "formPayload":
    case "applyMerge":
      return mergeFailed(job.round, fault);
    case "loadStage":
      return [
        send({ type: "loadFailed", assignment: job.assignment, fault }),
        record({ type: "loadFailed", stage: job.work.stage, ...fault }),
      ];
    case "sealStep":
    case "copyState":
    case "applyStep": {
      const { code, detail } = fault;
      state.phase = "stopped";
      return [
        send({ type: "leaving", reason: detail }),
        record({ type: "refused", code, detail }),
        { type: "finish", finished: false, reason: detail },
      ];
    }
    default:
      return unreachable(job);
  }
}
