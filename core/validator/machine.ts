/**
 * The validator evaluates held-out text and repeats miners' tasks, one request at a time, and reports numbers. It
 * computes scores from the orchestrator's reports and its own verdicts (core/score/verdict.ts).
 */

import { assert, present, unreachable } from "../assert.ts";
import type { RunConfig } from "../config/config.ts";
import { type Fault, fault } from "../fault.ts";
import type { BlobRef } from "../ids.ts";
import type { Machine } from "../protocol/machine.ts";
import type { GradientClaimed } from "../protocol/audit_messages.ts";
import type { Evaluate, HubMessage, NodeMessage, RepeatGradient, Replay } from "../protocol/message.ts";
import { judgeGradient } from "../score/gradient_verdict.ts";
import { judgeRepetition, type Verdict, verdictFacts } from "../score/verdict.ts";
import {
  bookVerdict,
  bookWork,
  isAnyDue,
  openWorkBook,
  scoresOf,
  unpaidOf,
  type WorkBook,
} from "../score/work_score.ts";
import type { Subject } from "../statements/findings.ts";
import { sourceName, unsigned } from "../statements/statement.ts";
import { gradientWork, replaySubject, replayWork } from "./replay_work.ts";
import type { ValidatorEffect, ValidatorEvent, ValidatorRecord, ValidatorResult, ValidatorWork } from "./event.ts";

type Request = Evaluate | Replay | RepeatGradient;

export interface ValidatorState {
  readonly adapter: string;
  phase: "idle" | "joined" | "stopped";
  config: RunConfig | null;
  layersOfStages: readonly number[];
  readonly queue: { readonly request: Request; readonly segments: readonly BlobRef[] }[];
  running: {
    readonly job: number;
    readonly request: Request;
    readonly segments: readonly BlobRef[];
    isObsolete: boolean;
  } | null;
  jobs: number;
  found: { readonly request: RepeatGradient; readonly squareSum: number } | null; // awaits the claim
  readonly book: WorkBook;
}

export function openValidator(options: { adapter: string }): ValidatorState {
  return {
    adapter: options.adapter,
    phase: "idle",
    config: null,
    layersOfStages: [],
    queue: [],
    running: null,
    jobs: 0,
    found: null,
    book: openWorkBook(),
  };
}

export const validator: Machine<ValidatorState, ValidatorEvent, ValidatorEffect> = {
  step(state, event) {
    if (state.phase === "stopped") return event.type === "messageReceived" ? release(event.segments) : [];
    return [...take(state, event), ...startNext(state)];
  },
  nextDeadlineMs: () => null,
  assertInvariants(state) {
    assert(
      state.running !== null || state.queue.length === 0 || state.phase !== "joined",
      "an idle device has no queue",
    );
  },
};

const send = (message: NodeMessage): ValidatorEffect => ({ type: "send", message });
const attest = (message: NodeMessage, signs: Subject): ValidatorEffect => ({ type: "send", message, signs });
const record = (value: ValidatorRecord): ValidatorEffect => ({ type: "record", record: value });
const release = (refs: readonly BlobRef[]): ValidatorEffect[] => refs.length === 0 ? [] : [{ type: "release", refs }];

function take(state: ValidatorState, event: ValidatorEvent): ValidatorEffect[] {
  switch (event.type) {
    case "connected":
      return [record({ type: "joined", resumed: event.resumed }), ...(event.resumed ? [] : join(state))];
    case "disconnected":
      return [record({ type: "offline" })];
    case "messageReceived":
      return onMessage(state, event);
    case "workDone":
      return onWorkDone(state, event);
    case "workFailed":
      return onWorkFailed(state, event);
    case "stopRequested": {
      const goodbye = state.phase === "joined" ? [send({ type: "leaving", reason: event.reason })] : [];
      return [...goodbye, ...stop(state, { reason: event.reason, finished: false })];
    }
    case "tick": // no deadlines
      return [];
    default:
      return unreachable(event);
  }
}

function join(state: ValidatorState): ValidatorEffect[] {
  const dropped = dropWork(state);
  state.phase = "joined";
  const { adapter } = state;
  const hello = send({ type: "join", role: "validator", adapter, previousStage: null, holding: null, listens: null });
  return [...dropped, hello];
}

function stop(state: ValidatorState, options: { finished: boolean; reason: string }): ValidatorEffect[] {
  const { finished, reason } = options;
  const dropped = dropWork(state);
  state.phase = "stopped";
  return [...dropped, record({ type: "stopped", finished, reason }), { type: "finish", finished, reason }];
}

function dropWork(state: ValidatorState): ValidatorEffect[] {
  const refs = state.queue.flatMap((entry) => [...entry.segments]);
  state.queue.length = 0;
  state.found = null;
  if (state.running !== null) state.running.isObsolete = true;
  return release(refs);
}

function onMessage(
  state: ValidatorState,
  options: { message: HubMessage; segments: readonly BlobRef[] },
): ValidatorEffect[] {
  const { message, segments } = options;
  if (message.type === "evaluate" || message.type === "replay" || message.type === "repeatGradient") {
    const wrong = wrongSegments(state, { message, segments });
    if (wrong !== null) {
      return [
        ...release(segments),
        send({ type: "requestFailed", request: message.request, fault: fault("badBlob", wrong) }),
      ];
    }
    state.queue.push({ request: message, segments });
    return [];
  }
  switch (message.type) {
    case "welcome": {
      const { name, size, chain } = message.config;
      state.config = message.config;
      state.layersOfStages = message.layersOfStages;
      const stages = message.layersOfStages.length;
      return [...release(segments), record({ type: "welcomed", name, size, chain, stages })];
    }
    case "workReport":
      bookWork(state.book, message);
      for (const miner of message.expelled) bookVerdict(state.book, { miner, round: message.round, score: 0 });
      return [...release(segments), ...scored(state)];
    case "gradientClaimed":
      return [...release(segments), ...onClaimed(state, message)];
    case "notice":
      return [...release(segments), record(message)];
    case "reject":
      return [
        ...release(segments),
        record({ type: "refused", code: message.fault.code, detail: message.fault.detail }),
      ];
    case "stop":
      return [...release(segments), ...stop(state, message)];
    default:
      return release(segments); // for miners
  }
}

function scored(state: ValidatorState): ValidatorEffect[] {
  const { book } = state;
  const scores = scoresOf(book);
  const failed = unpaidOf(book);
  return [
    record({ type: "scored", round: book.newestRound, miners: scores.length, failed }),
    { type: "score", round: book.newestRound, scores, isAnyDue: isAnyDue(book) },
  ];
}

function wrongSegments(
  { config }: ValidatorState,
  { message, segments }: { message: Request; segments: readonly BlobRef[] },
): string | null {
  const { length } = segments;
  if (message.type === "repeatGradient") {
    if (length > 0 && length % 2 === 0) return null;
    return `Request ${message.request} has ${length} segments instead of two for each task`;
  }
  const isShort = message.type === "evaluate" || message.direction === "forward";
  const wanted = isShort || config?.pipeline.stages === 1 ? 2 : 3; // a single stage has no output
  if (length === wanted) return null;
  return `Request ${message.request} has ${length} segments instead of ${wanted}`;
}

function startNext(state: ValidatorState): ValidatorEffect[] {
  if (state.running !== null || state.config === null || state.phase !== "joined") return [];
  const next = state.queue.shift();
  if (next === undefined) return [];
  const job = state.jobs++;
  state.running = { job, ...next, isObsolete: false };
  const { config, layersOfStages } = state;
  return [{ type: "perform", job, config, layersOfStages, work: workOf(next) }];
}

function workOf({ request, segments }: { request: Request; segments: readonly BlobRef[] }): ValidatorWork {
  const segment = (index: number) => present(segments[index], "segments were counted");
  if (request.type === "evaluate") {
    const { round, sources } = request;
    return { type: "evaluate", round, sources, inputs: segment(0), targets: segment(1) };
  }
  return request.type === "replay" ? replayWork(request, segments) : gradientWork(request, segments);
}

function finishRunning(state: ValidatorState, job: number): NonNullable<ValidatorState["running"]> | null {
  const { running } = state;
  if (running?.job !== job) return null;
  state.running = null;
  return running;
}

function onWorkDone(state: ValidatorState, event: { job: number; result: ValidatorResult }): ValidatorEffect[] {
  const running = finishRunning(state, event.job);
  if (running === null) return [];
  const freed = release(running.segments);
  if (running.isObsolete) return freed;
  const { request } = running;
  const { result } = event;
  if (request.type === "evaluate" && result.type === "evaluate") {
    return [...freed, ...onEvaluated(request, result)];
  }
  if (request.type === "repeatGradient" && result.type === "gradient") {
    return [...freed, ...onAddedUp(state, { request, squareSum: result.squareSum })];
  }
  assert(request.type === "replay" && result.type === "replay", "a result answers its request");
  return [...freed, ...onRepeated(state, { request, segments: running.segments, result })];
}

function onEvaluated(
  { request, round, sources, isTrial }: Evaluate,
  { loss, tokens }: Extract<ValidatorResult, { type: "evaluate" }>,
): ValidatorEffect[] {
  const isFinite = Number.isFinite(loss);
  const detail = `The held-out loss of round ${round} is not finite`;
  return [
    record(
      isFinite
        ? { type: isTrial ? "payloadTried" : "evaluated", round, loss, tokens }
        : { type: "requestFailed", code: "badNumbers", detail },
    ),
    attest({ type: "evaluated", request, loss: isFinite ? loss : null, tokens, signature: unsigned }, {
      type: "model",
      round,
      parameters: sources.map(sourceName),
    }),
  ];
}

function failed({ request }: Request, { code, detail }: Fault): ValidatorEffect[] {
  return [
    record({ type: "requestFailed", code, detail }),
    send({ type: "requestFailed", request, fault: { code, detail } }),
  ];
}

/** `squareSum`: null until the last part. */
function onAddedUp(
  state: ValidatorState,
  { request, squareSum }: { request: RepeatGradient; squareSum: number | null },
): ValidatorEffect[] {
  if (squareSum !== null && !Number.isFinite(squareSum)) {
    return failed(request, fault("badNumbers", `The gradient that ${request.task} began is not finite`));
  }
  state.found = squareSum === null ? null : { request, squareSum };
  const answer = { type: "gradientRepeated" as const, request: request.request, squareSum };
  if (squareSum === null) return [send({ ...answer, signature: null })];
  const { round, step, miner, task, source } = request;
  const parameters = sourceName(source);
  return [attest({ ...answer, signature: unsigned }, { type: "gradient", round, step, miner, task, parameters })];
}

/** Judges like the orchestrator, so that this validator's scores match the log's. */
function onClaimed(state: ValidatorState, { request, claimed, least }: GradientClaimed): ValidatorEffect[] {
  const { found } = state;
  if (found?.request.request !== request) return []; // of an earlier session
  state.found = null;
  return actOn(state, judgeGradient(found.request, { claimed, found: found.squareSum, least }));
}

function onRepeated(
  state: ValidatorState,
  options: {
    request: Replay;
    segments: readonly BlobRef[];
    result: Extract<ValidatorResult, { type: "replay" }>;
  },
): ValidatorEffect[] {
  const { request, segments, result: { innovationError, equalShare, lossError } } = options;
  const { tolerance } = present(state.config, "a joined validator has a config").validate;
  const found = { innovationError, equalShare, lossError };
  return [
    ...actOn(state, judgeRepetition(request, { found, tolerance })),
    attest(
      { type: "replayed", request: request.request, ...found, signature: unsigned },
      replaySubject(request, segments),
    ),
  ];
}

/** Only scores follow here; the orchestrator does the rest. */
function actOn(state: ValidatorState, verdict: Verdict): ValidatorEffect[] {
  const facts = verdictFacts(verdict);
  bookVerdict(state.book, verdict);
  return [
    ...(verdict.action === "none" ? [] : scored(state)),
    ...(facts === null ? [] : [record({ type: "verdict", ...facts })]),
  ];
}

function onWorkFailed(
  state: ValidatorState,
  event: { job: number; fault: Fault },
): ValidatorEffect[] {
  const running = finishRunning(state, event.job);
  if (running === null) return [];
  const freed = release(running.segments);
  if (running.isObsolete) return freed;
  return [...freed, ...failed(running.request, event.fault)];
}
