/**
 * The miner does the orchestrator's work in order and decides nothing about the run. A step header applies between the
 * tasks before and after it. If other tasks count than were accumulated (a lease had expired), the gradient is
 * recomputed from the log.
 */

import { assert, unreachable } from "../assert.ts";
import { type Fault, fault } from "../fault.ts";
import type { BlobRef } from "../ids.ts";
import type { Machine } from "../protocol/machine.ts";
import type { Assign, Holding, HubMessage, LeaveAnswered, RunTask, Welcome } from "../protocol/message.ts";
import type { ReduceSlice } from "../protocol/merge_messages.ts";
import { chainStart } from "../statements/work_chain.ts";
import { type MinerEffect, type MinerEvent, record, release, send } from "./event.ts";
import { beside, jobDone, jobFailed, mergeFailed, refsOf, workOf } from "./jobs.ts";
import { isTooLate, leaveWhenDone, onLeaveAnswered, requestLeave } from "./leaving.ts";
import { copyMissed, noteUnsent, retryUploads, sayShown, showAgain } from "./showing.ts";
import type { Job, MinerState, RunningJob } from "./state.ts";

export const miner: Machine<MinerState, MinerEvent, MinerEffect> = {
  step(state, event, nowMs) {
    if (state.phase === "stopped") return event.type === "messageReceived" ? release(event.segments) : [];
    const effects = take(state, event, nowMs);
    const left = leaveWhenDone(state, { stop: (reason) => stop(state, { reason }), nowMs });
    return [...effects, ...left, ...startNext(state)];
  },
  nextDeadlineMs({ phase, retryAtMs, leaving }) {
    const earliest = Math.min(retryAtMs ?? Infinity, leaving?.untilMs ?? Infinity);
    return phase === "stopped" || earliest === Infinity ? null : earliest;
  },
  assertInvariants(state) {
    assert(new Set(state.log.map((entry) => entry.task)).size === state.log.length, "a task is in the log once");
    assert(
      state.running !== null || state.queue.length === 0 || state.phase !== "joined",
      "an idle device has no queue",
    );
  },
};

function take(state: MinerState, event: MinerEvent, nowMs: number): MinerEffect[] {
  switch (event.type) {
    case "connected":
      state.isLinked = true;
      return [record({ type: "joined", resumed: event.resumed }), ...(event.resumed ? [] : join(state))];
    case "disconnected":
      state.isLinked = false;
      return [record({ type: "offline" })];
    case "messageReceived":
      return onMessage(state, { ...event, nowMs });
    case "workDone":
      return onWorkDone(state, event);
    case "workFailed":
      return onWorkFailed(state, { ...event, nowMs });
    case "loadProgressed":
      return onLoadProgressed(state, event);
    case "tick":
      return retryUploads(state, nowMs);
    case "stopRequested":
      return requestLeave(state, { reason: event.reason, atOnce: event.atOnce ?? false, nowMs });
    default:
      return unreachable(event);
  }
}

/** The last session's requests are void; results stay until the orchestrator decides. */
function join(state: MinerState): MinerEffect[] {
  const queued = state.queue.flatMap(refsOf);
  state.queue.length = 0;
  for (const [id, { type }] of state.side) if (type !== "uploadState") state.side.delete(id); // not requested again
  if (state.running !== null) state.running.isUntold = true;
  state.phase = "joining";
  const { adapter, listens } = state;
  const previousStage = state.stage ?? state.previousStage;
  const hello = send({ type: "join", role: "miner", adapter, previousStage, holding: holdingOf(state), listens });
  return [...release(queued), hello];
}

function holdingOf(state: MinerState): Holding | null {
  const { assignment, round, running } = state;
  if (assignment === null) return null;
  const applying = running?.job.type === "applyStep" ? running.job : null;
  if (applying !== null && applying.tasks > 0) return { assignment, round, step: applying.step, tasks: [] };
  return { assignment, round, step: state.countedStep, tasks: state.log.map((entry) => entry.task) };
}

function onWelcome(state: MinerState, message: Welcome): MinerEffect[] {
  state.phase = "joined";
  state.config = message.config;
  state.layersOfStages = message.layersOfStages;
  const { stage, round } = state;
  const { name, size, chain } = message.config;
  const welcomed = record({ type: "welcomed", name, size, chain });
  if (message.isKept && stage !== null) {
    copyMissed(state, message.shows);
    return [welcomed, record({ type: "kept", stage, round, tasks: state.log.length }), ...showAgain(state)];
  }
  state.previousStage = stage ?? state.previousStage;
  state.stage = null;
  return [welcomed, ...dropWork(state)];
}

function stop(state: MinerState, options: { reason: string; finished?: boolean }): MinerEffect[] {
  const dropped = dropWork(state);
  state.phase = "stopped";
  const { reason, finished = false } = options;
  return [...dropped, record({ type: "stopped", finished, reason }), { type: "finish", finished, reason }];
}

/** A running job continues, but its result will not count. */
function dropWork(state: MinerState): MinerEffect[] {
  const queued = state.queue.flatMap(refsOf);
  const logged = state.log.flatMap((entry) => [entry.input, entry.second]);
  state.queue.length = 0;
  state.log = [];
  state.side.clear();
  state.assignment = null;
  state.countedStep = null;
  state.merged = null;
  state.shown = [];
  state.unsent = [];
  state.openStep = state.closedStep = null;
  state.isMerging = false;
  state.delivered.hashes.clear();
  state.head = chainStart;
  state.sealedLink = null;
  if (state.running === null) return release([...queued, ...logged]);
  state.running.isObsolete = true;
  state.running.held.push(...logged);
  return release(queued);
}

/** Other messages were meant for the previous session; the orchestrator repeats requests after the welcome. */
const beforeWelcome: ReadonlySet<HubMessage["type"]> = new Set(["welcome", "reject", "stop"]);

function onMessage(
  state: MinerState,
  { message, segments, nowMs }: { message: HubMessage; segments: readonly BlobRef[]; nowMs: number },
): MinerEffect[] {
  if (message.type === "leaveAnswered") return [...release(segments), ...onLeaveAnswered(state, { message, nowMs })];
  if (state.phase === "joining" && !beforeWelcome.has(message.type)) return release(segments);
  if (message.type === "runTask") return onRunTask(state, { message, segments });
  return [...release(segments), ...onPlainMessage(state, message)];
}

function onPlainMessage(state: MinerState, message: Exclude<HubMessage, RunTask | LeaveAnswered>): MinerEffect[] {
  switch (message.type) {
    case "welcome":
      return onWelcome(state, message);
    case "assign":
      return onAssign(state, message);
    case "cancelTasks":
      return cancel(state, new Set(message.tasks));
    case "applyStep":
      state.closedStep = message.step;
      if (message.shows) state.queue.push({ type: "copyState", round: state.round, step: message.step });
      state.queue.push(message);
      return [];
    case "sealStep":
    case "applyMerge":
      state.queue.push(message);
      return [];
    case "startMerge":
      state.isMerging = true;
      if (message.contributes) state.queue.push({ type: "formPayload", round: message.round, slices: message.slices });
      return [];
    case "reduceSlice":
      return [reduceBeside(state, message)];
    case "uploadParameters":
      return [beside(state, message, { type: "uploadParameters" })];
    case "notice":
      return [record(message)];
    case "reject":
      return [record({ type: "refused", code: message.fault.code, detail: message.fault.detail })];
    case "stop":
      return stop(state, message);
    case "workReport": // for validators
      return [];
    case "evaluate":
    case "replay":
    case "repeatGradient":
    case "gradientClaimed":
      return [
        send({ type: "requestFailed", request: message.request, fault: fault("wrongPhase", "this node is a miner") }),
      ];
    default:
      return unreachable(message);
  }
}

/** Opened parameters of earlier rounds stay, and are copied before the load. */
function onAssign(state: MinerState, message: Assign): MinerEffect[] {
  if (state.config === null) return [];
  const { shown, unsent } = state;
  const uploads = [...state.side].filter(([, { type }]) => type === "uploadState");
  const copies = state.queue.filter(({ type }) => type === "copyState");
  const dropped = dropWork(state);
  Object.assign(state, { shown, unsent });
  for (const [id, job] of uploads) state.side.set(id, job);
  state.queue.push(...copies);
  const { stage, round, source, peers } = message;
  state.stage = stage;
  state.round = round;
  if (state.leaving !== null) state.leaving.answer = "free"; // its work of the round does not count now
  const { config, layersOfStages } = state;
  state.queue.push({
    type: "loadStage",
    assignment: message.assignment,
    work: { type: "loadStage", config, layersOfStages, stage, round, source, peers },
  });
  return [...dropped, record({ type: "stageAssigned", stage, round })];
}

function onRunTask(state: MinerState, options: { message: RunTask; segments: readonly BlobRef[] }): MinerEffect[] {
  const { message, segments } = options;
  state.openStep = message.step;
  if (isTooLate(state, message)) return release(segments);
  const [input, second = null] = segments;
  const wanted = message.direction === "forward" ? 1 : 2;
  if (input === undefined || segments.length !== wanted || message.stage !== state.stage) {
    const wrong = fault(
      "badBlob",
      `Cannot run ${message.task}: this node's stage needs ${wanted} segments for it`,
    );
    return [...release(segments), send({ type: "taskFailed", task: message.task, fault: wrong })];
  }
  const { task, step, direction } = message;
  state.queue.push({ type: "runTask", task, step, direction, input, second });
  return [];
}

function cancel(state: MinerState, tasks: ReadonlySet<string>): MinerEffect[] {
  const refs: BlobRef[] = [];
  const kept = state.queue.filter((job) => {
    if (job.type !== "runTask" || !tasks.has(job.task)) return true;
    refs.push(...refsOf(job));
    return false;
  });
  state.queue.splice(0, state.queue.length, ...kept);
  return release(refs);
}

function reduceBeside(state: MinerState, { round, edition, slice, inputs }: ReduceSlice): MinerEffect {
  return beside(state, { type: "reduceSlice", round, edition, slice }, { type: "reduceSlice", inputs });
}

function startNext(state: MinerState): MinerEffect[] {
  const effects: MinerEffect[] = [];
  while (state.running === null && state.phase !== "stopped") {
    const job = state.queue.shift();
    if (job === undefined) break;
    if (job.type === "applyMerge" && state.merged?.round === job.round + 1) {
      effects.push(send(state.merged)); // the answer was lost with its session
      continue;
    }
    if (job.type === "applyStep" && job.tasks > 0 && job.tasks !== state.log.length) {
      effects.push(...jobFailed(state, { job, fault: miscounted(job, state.log.length) }));
      continue;
    }
    const id = state.jobs++;
    state.running = { id, job, isObsolete: false, isUntold: false, held: [] };
    effects.push({ type: "perform", job: id, work: workOf(state, job) });
  }
  return effects;
}

/** The miner leaves rather than apply a gradient other than the one counted. */
function miscounted({ step, tasks }: Extract<Job, { type: "applyStep" }>, accumulated: number): Fault {
  return fault(
    "staleResult",
    `Cannot take step ${step}: its header counts ${tasks} tasks, and the gradient has ${accumulated}`,
  );
}

function onWorkDone(state: MinerState, event: Extract<MinerEvent, { type: "workDone" }>): MinerEffect[] {
  const { running } = state;
  if (running?.id !== event.job) return onSideDone(state, event);
  state.running = null;
  const done = () => told(running, jobDone(state, { job: running.job, result: event.result }));
  if (!running.isObsolete) return done();
  if (running.job.type === "copyState") return [...release(running.held), ...done()];
  const output = event.result.type === "runTask" ? event.result.output : null;
  return release([...(output === null ? [] : [output]), ...refsOf(running.job), ...running.held]);
}

/** An obsolete load runs to its end unreported. */
function onLoadProgressed(
  { running, stage, round }: MinerState,
  { part, bytes }: Extract<MinerEvent, { type: "loadProgressed" }>,
): MinerEffect[] {
  if (running?.job.type !== "loadStage" || running.isObsolete || stage === null) return [];
  const { assignment } = running.job;
  const percent = Math.floor(100 * bytes.done / bytes.total);
  return [
    record({ type: "stageLoading", stage, round, part, bytes: bytes.done, totalBytes: bytes.total }),
    ...told(running, [send({ type: "loading", assignment, part, percent })]),
  ];
}

function told(running: RunningJob, effects: MinerEffect[]): MinerEffect[] {
  return running.isUntold ? effects.filter((effect) => effect.type !== "send") : effects;
}

function onSideDone(state: MinerState, event: Extract<MinerEvent, { type: "workDone" }>): MinerEffect[] {
  const job = state.side.get(event.job);
  state.side.delete(event.job);
  const { result } = event;
  if (job?.type === "reduceSlice" && result.type === "reduceSlice") {
    const { round, edition, slice } = job;
    return [send({ type: "sliceReduced", round, edition, slice, result: result.result })];
  }
  if (job?.type === "uploadParameters" && result.type === "uploadParameters") {
    const { parameters, momentum } = result;
    return [send({ type: "parametersUploaded", round: job.round, parameters, momentum })];
  }
  if (job?.type === "uploadState" && result.type === "uploadState") {
    return sayShown(state, { type: "stateShown", round: job.round, step: job.step, change: result.change });
  }
  return [];
}

function onWorkFailed(
  state: MinerState,
  { nowMs, ...event }: Extract<MinerEvent, { type: "workFailed" }> & { nowMs: number },
): MinerEffect[] {
  const { running } = state;
  if (running?.id === event.job) {
    state.running = null;
    if (running.isObsolete) return release([...refsOf(running.job), ...running.held]);
    const failed = jobFailed(state, { job: running.job, fault: event.fault });
    return [...release(refsOf(running.job)), ...(state.phase === "stopped" ? failed : told(running, failed))];
  }
  const job = state.side.get(event.job);
  state.side.delete(event.job);
  if (job === undefined) return [];
  if (job.type === "uploadState") {
    noteUnsent(state, { round: job.round, step: job.step, nowMs });
    return [record({ type: "refused", ...event.fault })];
  }
  return mergeFailed(job.round, event.fault);
}
