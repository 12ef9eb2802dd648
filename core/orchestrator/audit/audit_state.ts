/**
 * Requests to validators, past and future, and the orchestrator's own repetitions. Plain data. Invariant: `open` counts
 * the waiting and running requests, the arbitrated tasks and those whose parameters are awaited, of each round.
 */

import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../../ids.ts";
import type { Evaluated, GradientRepeated, Replayed } from "../../protocol/audit_messages.ts";
import type { HeldReceipt, TaskReceipt } from "../../statements/receipt.ts";
import type { Subject } from "../../statements/findings.ts";

/** A task that validators repeat, with the parameters at its round's start or those that its miner opened. */
export interface ReplayTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly task: TaskId;
  readonly microbatch: MicrobatchId;
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly input: BlobRef | null; // null: token ids
  readonly gradient: BlobRef | null;
  readonly output: BlobRef | null; // null: the only stage's turnaround, whose losses are compared
  readonly losses: readonly number[] | null;
  readonly change: BlobRef | null; // to the opened parameters; null: those of the round, as for tasks of its first step
  readonly signed: TaskReceipt | null; // its miner's signed receipt; null: none
  /** The backward of this forward by the same miner, for the validator that repeated the forward. */
  readonly then: ReplayTask | null;
}

/** One task of a gradient that validators recompute. */
export interface GradientTask {
  readonly microbatch: MicrobatchId;
  readonly input: BlobRef | null; // null: token ids
  readonly gradient: BlobRef | null; // null: targets
}

/** The gradient that a miner committed for a step, with the tasks it sums: gradient_audits.ts. */
export interface GradientReplay {
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // the first of them, which names the gradient
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly tasks: readonly GradientTask[]; // in the order in which the miner committed them
  readonly squareSum: number; // as the miner committed it
  readonly least: number; // core/score/gradient_verdict.ts
  readonly isOdd: boolean; // its norm was an outlier among its peers': step/gradient_norm.ts
  readonly change: BlobRef | null; // to the opened parameters; null: those of the round, as for its first step
  readonly receipt: HeldReceipt | null; // its miner's receipt for the norm
}

/** Work of a miner that others repeat. */
export type AuditedWork =
  | { readonly type: "replay"; readonly replay: ReplayTask }
  | { readonly type: "gradient"; readonly replay: GradientReplay };

/** Parameters that a miner was asked to open, and its tasks of that step: shown_states.ts. */
export interface AwaitedState {
  readonly round: number;
  readonly step: number;
  readonly stage: StageIndex;
  readonly assignment: number; // of the miner at that time
  readonly reach: number; // sum of the learning rates of the round's steps before it
  readonly sketchKey: number; // of the round
  readonly replays: readonly ReplayTask[];
  readonly gradient: GradientReplay | null;
  change: BlobRef | null; // opened, and being checked
  mayLeave: boolean; // the orchestrator was down meanwhile, which may have ended an upload
}

/** The change from the round's start to opened parameters, or to the result of a payload. */
export interface SketchedWay {
  readonly round: number;
  readonly assignment: number; // of the miner at that time
  readonly reach: number; // sum of the learning rates of the round's steps before it
  readonly sketch: readonly number[];
}

/** Held by the orchestrator for the audits of a round's later steps. */
export interface HeldForAudits {
  readonly wires: BlobRef[];
  readonly states: BlobRef[]; // opened changes, in the store
}

/**
 * `tried`: validators that are not asked again because they missed its deadline or have answered. A probe only tests
 * whether a validator answers at all: its answer does not count, nothing waits for it, and `open` excludes it.
 */
export type AuditRequest =
  | {
    readonly type: "evaluate";
    readonly round: number;
    readonly answers: Evaluation[];
    readonly tried: NodeId[];
    readonly isProbe: boolean;
  }
  | RepetitionRequest
  | {
    readonly type: "trial"; // held_out/payload_trials.ts
    readonly round: number;
    readonly stage: StageIndex;
    readonly node: NodeId | null; // whose payload; null: none, for comparison
    readonly parameters: BlobRef | null; // of the replaced stage; null: those of the round
    readonly answers: Evaluation[];
    readonly tried: NodeId[];
  };

/** One of the models that a leave-one-in evaluation compares. */
export interface TriedEnd {
  readonly node: NodeId | null; // null: the round's start
  slices: readonly BlobRef[] | null; // of its payload, until its parameters are computed
  parameters: BlobRef | null; // from then on
  isAsked: boolean;
  loss: number | null; // null: not known yet
  answers: readonly Evaluation[]; // that the loss follows from
}

export interface PayloadTrial {
  readonly round: number;
  readonly stage: StageIndex;
  readonly parameters: readonly string[]; // of every stage, at the round's start
  ends: TriedEnd[];
}

export type RepetitionRequest = AuditedWork & {
  readonly tried: NodeId[];
  readonly isSecond: boolean; // a validator found it wrong; this request is for a second opinion
};
export type TrialRequest = Extract<AuditRequest, { type: "trial" }>;
export type EvaluateRequest = Extract<AuditRequest, { type: "evaluate" }>;

/** A validator's evaluation of a round's parameters. */
export interface Evaluation {
  readonly validator: NodeId;
  readonly loss: number; // mean nats per token; Infinity: non-finite output
  readonly tokens: number;
  readonly signature: string;
}

/** An answer that came with a signature. */
export type SignedAnswer = (Evaluated | Replayed | GradientRepeated) & { readonly signature: string };

export interface RunningAudit {
  readonly validator: NodeId;
  readonly request: AuditRequest;
  readonly sentMs: number;
  readonly first: number; // tasks of a gradient that this validator has already repeated
  readonly tasks: number; // tasks of this part; 1 unless it is a gradient
  readonly subject: Subject; // of its answer
  answer: SignedAnswer | null; // whose signature is being checked: signed_answers.ts
}

export const evaluationOf = (round: number, isProbe = false): AuditRequest => ({
  type: "evaluate",
  round,
  answers: [],
  tried: [],
  isProbe,
});

export const repetitionOf = (work: AuditedWork): RepetitionRequest => ({ ...work, tried: [], isSecond: false });
export const replayOf = (replay: ReplayTask): RepetitionRequest => repetitionOf({ type: "replay", replay });

export const isRepetition = (request: AuditRequest): request is RepetitionRequest =>
  request.type === "replay" || request.type === "gradient";

/** The segments needed to repeat it. */
export function auditedRefs(work: AuditedWork): BlobRef[] {
  if (work.type === "gradient") {
    return work.replay.tasks.flatMap(({ input, gradient }) => [input, gradient]).filter((ref) => ref !== null);
  }
  const { input, gradient, output, then } = work.replay;
  const own = [input, gradient, output].filter((ref) => ref !== null);
  return then === null ? own : [...own, ...auditedRefs({ type: "replay", replay: then })];
}

export const isProbe = (request: AuditRequest): boolean => request.type === "evaluate" && request.isProbe;

export interface QueuedAudit {
  readonly place: number; // in the order of all
  readonly request: AuditRequest;
}

/** Waiting requests that are interchangeable to every validator. */
export interface AuditGroup {
  readonly round: number;
  readonly tried: readonly NodeId[];
  readonly requests: QueuedAudit[]; // heap by place
}

/** Waiting requests: audit_queue.ts. */
export interface AuditQueue {
  readonly groups: Map<string, AuditGroup>; // by round and by the validators that tried them
  size: number; // requests in all groups
  front: number; // place of the frontmost reassigned request
  back: number; // place of the next new one
}

/** Connected validators: validator_places.ts. The first three have no request. */
export interface ValidatorPlaces {
  readonly heard: Set<NodeId>; // have answered before
  readonly unheard: Set<NodeId>; // never have
  readonly silent: Set<NodeId>; // missed their last deadline
  readonly answering: Set<NodeId>; // all that are not silent, including busy ones
}

/** A task or a gradient that the orchestrator repeats, or will: referee.ts. */
export type RefereedWork = AuditedWork & {
  readonly accusers: NodeId[]; // validators that found it wrong
  isAsked: boolean; // the orchestrator is repeating it
};

export interface AuditWork {
  readonly queue: AuditQueue;
  readonly running: Map<number, RunningAudit>;
  readonly runningOf: Map<NodeId, number>; // by validator: its request
  readonly places: ValidatorPlaces;
  readonly silent: Map<NodeId, number>; // validators that missed a deadline, by request; asked when no other is left
  readonly proven: Set<NodeId>; // validators that have answered
  readonly slowestMs: Map<AuditRequest["type"], number>; // answer to each kind of request, decaying with each later one
  readonly refereed: Map<string, RefereedWork>; // by referee.ts's keys, in the order in which they were found wrong
  readonly leaves: Map<NodeId, number>; // how often each left in this round while others used results of its open step
  readonly awaited: Map<NodeId, AwaitedState[]>; // by the miner that must open them
  readonly drawn: Map<NodeId, number>; // states requested in the open round, by miner
  readonly held: Map<number, HeldForAudits>; // by round
  readonly shownWays: Map<NodeId, SketchedWay[]>; // that wait for a payload: shown_ends.ts
  readonly payloadWays: Map<NodeId, SketchedWay>; // that wait for opened parameters
  evaluated: { readonly round: number; readonly step: number }; // the last requested round: evaluation_pace.ts
  readonly recomputed: Map<NodeId, number>; // by miner: the last round in which its gradient was sampled
  trials: PayloadTrial[]; // open ones
  readonly open: Map<number, number>; // by round
  requests: number;
  readonly disputes: EvaluateRequest[]; // closed, with conflicting answers that the next step's loss will decide
  isAloneSaid: boolean; // whether the warning about requests dropped for lack of validators was issued
}

export const roundOf = (request: AuditRequest): number => isRepetition(request) ? request.replay.round : request.round;

/** The work to repeat once the parameters are available. */
export function awaitedWork({ replays, gradient, change }: AwaitedState): AuditedWork[] {
  const tasks = replays.map((replay): AuditedWork => {
    const then = replay.then === null ? null : { ...replay.then, change };
    return { type: "replay", replay: { ...replay, change, then } };
  });
  return gradient === null ? tasks : [...tasks, { type: "gradient", replay: { ...gradient, change } }];
}

/** Held for the audits of a round. */
export function heldOf({ audit }: { readonly audit: AuditWork }, round: number): HeldForAudits {
  let held = audit.held.get(round);
  if (held === undefined) audit.held.set(round, held = { wires: [], states: [] });
  return held;
}

/** A request was answered or given up. */
export function closeRequest(audit: AuditWork, request: AuditRequest): void {
  closeOne(audit.open, roundOf(request));
}

/** One more of this round is open. */
export function openOne(open: Map<number, number>, round: number): void {
  open.set(round, (open.get(round) ?? 0) + 1);
}

/** One of this round is closed. */
export function closeOne(open: Map<number, number>, round: number): void {
  const left = (open.get(round) ?? 0) - 1;
  if (left > 0) open.set(round, left);
  else open.delete(round);
}
