/**
 * Audits as data. Invariant: `open` counts each round's waiting and running requests, arbitrated tasks, and tasks whose
 * parameters are awaited.
 */

import type { BlobRef, Direction, MicrobatchId, NodeId, StageIndex, TaskId } from "../../ids.ts";
import type { Evaluated, GradientRepeated, Replayed } from "../../protocol/audit_messages.ts";
import type { HeldReceipt, TaskReceipt } from "../../statements/receipt.ts";
import type { Subject } from "../../statements/findings.ts";

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
  readonly change: BlobRef | null; // to the opened parameters; null: the round's, as for tasks of its first step
  readonly signed: TaskReceipt | null;
  /** The same miner's backward, for the validator that repeated this forward. */
  readonly then: ReplayTask | null;
}

export interface GradientTask {
  readonly microbatch: MicrobatchId;
  readonly input: BlobRef | null; // null: token ids
  readonly gradient: BlobRef | null; // null: targets
}

/** All gradient tasks of a miner in a step. */
export interface GradientReplay {
  readonly round: number;
  readonly step: number;
  readonly miner: NodeId;
  readonly task: TaskId; // the first of them
  readonly stage: StageIndex;
  readonly direction: Direction;
  readonly tasks: readonly GradientTask[]; // in the order in which the miner committed them
  readonly squareSum: number; // as the miner committed it
  readonly least: number;
  readonly isOdd: boolean; // its norm was an outlier among its peers': step/gradient_norm.ts
  readonly change: BlobRef | null; // as in `ReplayTask`
  readonly receipt: HeldReceipt | null; // for the norm
}

export type AuditedWork =
  | { readonly type: "replay"; readonly replay: ReplayTask }
  | { readonly type: "gradient"; readonly replay: GradientReplay };

/** Parameters that a miner was asked to open, and its audited tasks of that step. */
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
  mayLeave: boolean; // the orchestrator was down meanwhile, so an upload may have ended
}

/** The change from the round's start to opened parameters, or to the result of a payload. */
export interface SketchedWay {
  readonly round: number;
  readonly assignment: number;
  readonly reach: number; // as in `AwaitedState`
  readonly sketch: readonly number[];
}

/** Held by the orchestrator for the audits of a round's later steps. */
export interface HeldForAudits {
  readonly wires: BlobRef[];
  readonly states: BlobRef[]; // opened changes, in the store
}

/**
 * `tried`: validators that answered or missed the deadline. A probe only tests whether a validator answers: its answer
 * does not count, nothing waits for it, and `open` excludes it.
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
    readonly type: "trial";
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
  parameters: BlobRef | null;
  isAsked: boolean;
  loss: number | null; // null: not known yet
  answers: readonly Evaluation[]; // behind the loss
}

export interface PayloadTrial {
  readonly round: number;
  readonly stage: StageIndex;
  readonly parameters: readonly string[]; // of every stage, at the round's start
  ends: TriedEnd[];
}

export type RepetitionRequest = AuditedWork & {
  readonly tried: NodeId[];
  readonly isSecond: boolean; // a second opinion, after a validator found it wrong
};
export type TrialRequest = Extract<AuditRequest, { type: "trial" }>;
export type EvaluateRequest = Extract<AuditRequest, { type: "evaluate" }>;

export interface Evaluation {
  readonly validator: NodeId;
  readonly loss: number; // mean nats per token; Infinity: non-finite output
  readonly tokens: number;
  readonly signature: string;
}

export type SignedAnswer = (Evaluated | Replayed | GradientRepeated) & { readonly signature: string };

export interface RunningAudit {
  readonly validator: NodeId;
  readonly request: AuditRequest;
  readonly sentMs: number;
  readonly first: number; // tasks of a gradient that this validator has already repeated
  readonly tasks: number; // of this part; 1 unless it is a gradient
  readonly subject: Subject;
  answer: SignedAnswer | null; // while its signature is checked: signed_answers.ts
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
  readonly place: number;
  readonly request: AuditRequest;
}

/** Requests that are interchangeable to every validator. */
export interface AuditGroup {
  readonly round: number;
  readonly tried: readonly NodeId[];
  readonly requests: QueuedAudit[]; // heap by place
}

export interface AuditQueue {
  readonly groups: Map<string, AuditGroup>; // by round and by the validators that tried them
  size: number;
  front: number; // place of the frontmost reassigned request
  back: number; // place of the next new one
}

/** Connected validators. The first three sets have no request. */
interface ValidatorPlaces {
  readonly heard: Set<NodeId>; // have answered before
  readonly unheard: Set<NodeId>;
  readonly silent: Set<NodeId>; // missed their last deadline
  readonly answering: Set<NodeId>; // all that are not silent, including busy ones
}

/** Work that the orchestrator repeats, or will. */
export type RefereedWork = AuditedWork & {
  readonly accusers: NodeId[];
  isAsked: boolean; // the orchestrator is repeating it
};

export interface AuditWork {
  readonly queue: AuditQueue;
  readonly running: Map<number, RunningAudit>;
  readonly runningOf: Map<NodeId, number>;
  readonly places: ValidatorPlaces;
  readonly silent: Map<NodeId, number>; // by the request they missed; asked when no other is left
  readonly proven: Set<NodeId>; // have answered
  readonly slowestMs: Map<AuditRequest["type"], number>; // answer to each kind of request, decaying with each later one
  readonly refereed: Map<string, RefereedWork>; // in the order in which they were found wrong
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
  isAloneSaid: boolean; // a warning has said that requests are dropped for lack of a validator
}

export const roundOf = (request: AuditRequest): number => isRepetition(request) ? request.replay.round : request.round;

export function awaitedWork({ replays, gradient, change }: AwaitedState): AuditedWork[] {
  const tasks = replays.map((replay): AuditedWork => {
    const then = replay.then === null ? null : { ...replay.then, change };
    return { type: "replay", replay: { ...replay, change, then } };
  });
  return gradient === null ? tasks : [...tasks, { type: "gradient", replay: { ...gradient, change } }];
}

export function heldOf({ audit }: { readonly audit: AuditWork }, round: number): HeldForAudits {
  let held = audit.held.get(round);
  if (held === undefined) audit.held.set(round, held = { wires: [], states: [] });
  return held;
}

export function closeRequest(audit: AuditWork, request: AuditRequest): void {
  closeOne(audit.open, roundOf(request));
}

export function openOne(open: Map<number, number>, round: number): void {
  open.set(round, (open.get(round) ?? 0) + 1);
}

export function closeOne(open: Map<number, number>, round: number): void {
  const left = (open.get(round) ?? 0) - 1;
  if (left > 0) open.set(round, left);
  else open.delete(round);
}
